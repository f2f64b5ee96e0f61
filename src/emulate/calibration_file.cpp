// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "emulate/calibration.hpp"
#include "emulate/run.hpp"

namespace weft::emulate {

namespace fs = std::filesystem;

namespace {

/// Returns whether a machine can have these figures. NaN is in no range.
bool is_plausible(const LayerCalibration& layer) {
  constexpr double kFastest = 1e13;
  constexpr double kMostOverhead_ns = 1e6;
  const auto longest_ns = static_cast<double>(kLongestLatency.to_nanoseconds());
  return layer.bandwidth_bytes_per_s >= kSlowestRate && layer.bandwidth_bytes_per_s <= kFastest &&
         layer.latency_ns >= 0 && layer.latency_ns <= longest_ns &&
         std::abs(layer.overhead_ns) <= kMostOverhead_ns;
}

}  // namespace

std::string calibration_path() {
  if (const char* path = std::getenv("WEFT_CALIBRATION"); path != nullptr && *path != '\0') {
    return path;
  }
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const fs::path base = cache != nullptr && *cache != '\0'
                            ? fs::path(cache)
                            : fs::path(home != nullptr ? home : "/tmp") / ".cache";
  return base / "weft" / fmt::format("calibration-{}.json", host.data());
}

Result<Calibration> load_calibration(const std::string& path) {
  std::ifstream file(path);
  if (!file) return Calibration{};
  const auto json = nlohmann::json::parse(file, nullptr, false);
  Calibration calibration;
  try {
    for (const auto& [layer, values] : json.at("layers").items()) {
      calibration[layer] = {values.at("latency_ns"), values.at("bandwidth_bytes_per_s"),
                            values.at("overhead_ns")};
      if (is_plausible(calibration[layer])) continue;
      return Error{
          ErrorCode::corrupt,
          fmt::format("{}: no machine has its figures of {}; make them anew by weft calibrate",
                      path, layer)};
    }
  } catch (const nlohmann::json::exception&) {
    return Error{ErrorCode::corrupt,
                 fmt::format("{}: is no calibration; make it anew by weft calibrate", path)};
  }
  return calibration;
}

Result<void> store_calibration(const std::string& path, const Calibration& calibration) {
  nlohmann::ordered_json layers = nlohmann::ordered_json::object();
  for (const auto& [layer, values] : calibration) {
    layers[layer] = {{"latency_ns", values.latency_ns},
                     {"bandwidth_bytes_per_s", values.bandwidth_bytes_per_s},
                     {"overhead_ns", values.overhead_ns}};
  }
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  const std::string fresh = fmt::format("{}.{}", path, ::getpid());
  std::ofstream file(fresh);
  file << nlohmann::ordered_json{{"layers", layers}}.dump(2) << "\n";
  file.close();
  if (file) fs::rename(fresh, path, error);
  if (!file || error) {
    return Error{ErrorCode::io,
                 fmt::format("{}: cannot be written; set WEFT_CALIBRATION to another file", path)};
  }
  return {};
}

}  // namespace weft::emulate
