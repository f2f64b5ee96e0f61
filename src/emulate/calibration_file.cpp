// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/make_error.hpp"
#include "base/system_error.hpp"
#include "emulate/calibration.hpp"
#include "emulate/run.hpp"

namespace weft::emulate {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kLargestCalibration = std::size_t{1} << 20;

/// Returns whether a machine can have these figures. NaN is in no range.
bool is_plausible(const LayerCalibration& layer) {
  constexpr double kFastest = 1e13;
  constexpr double kMostOverhead_ns = 1e6;
  const auto longest_ns = static_cast<double>(kLongestLatency.to_nanoseconds());
  return layer.bandwidth_bytes_per_s >= kSlowestRate && layer.bandwidth_bytes_per_s <= kFastest &&
         layer.latency_ns >= 0 && layer.latency_ns <= longest_ns &&
         std::abs(layer.overhead_ns) <= kMostOverhead_ns;
}

std::optional<std::string> variable(const char* name) {
  const char* text = std::getenv(name);
  return text != nullptr && *text != '\0' ? std::optional<std::string>(text) : std::nullopt;
}

/// $HOME, or what the system knows of the user; empty: neither.
fs::path home_directory() {
  if (const auto home = variable("HOME")) return *home;
  std::array<char, 4096> memory{};
  passwd entry{};
  passwd* found = nullptr;
  ::getpwuid_r(::getuid(), &entry, memory.data(), memory.size(), &found);
  return found != nullptr && found->pw_dir != nullptr ? found->pw_dir : "";
}

}  // namespace

Result<std::string> calibration_path() {
  if (const auto path = variable("WEFT_CALIBRATION")) return *path;
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  const std::string file = fmt::format("calibration-{}.json", host.data());
  if (const auto cache = variable("XDG_CACHE_HOME")) {
    return (fs::path(*cache) / "weft" / file).string();
  }
  const fs::path home = home_directory();
  if (!home.empty()) return (home / ".cache/weft" / file).string();
  return Error{ErrorCode::not_found,
               "HOME is not set, and the user has no entry that names a home, so there is no place "
               "for the calibration; set WEFT_CALIBRATION to a file, or XDG_CACHE_HOME to a "
               "directory"};
}

Result<Calibration> load_calibration(const std::string& path) {
  if (::access(path.c_str(), F_OK) != 0 && errno == ENOENT) return Calibration{};
  std::error_code error;
  if (fs::is_directory(path, error)) {
    return invalid("{}: is a directory; set WEFT_CALIBRATION to a file", path);
  }
  const auto text = read_text_file(path, kLargestCalibration);
  if (!text) return text.error();
  const auto json = nlohmann::json::parse(*text, nullptr, false);
  const auto refused = [&](ErrorCode code) {
    return Error{code, fmt::format("{}: is no calibration; make it anew by weft calibrate", path)};
  };
  if (!json.is_object() || !json.contains("layers") || !json["layers"].is_object()) {
    return refused(ErrorCode::invalid_argument);
  }
  Calibration calibration;
  try {
    for (const auto& [layer, values] : json["layers"].items()) {
      calibration[layer] = {values.at("latency_ns"), values.at("bandwidth_bytes_per_s"),
                            values.at("overhead_ns")};
      if (is_plausible(calibration[layer])) continue;
      return corrupt("{}: no machine has its figures of {}; make them anew by weft calibrate", path,
                     layer);
    }
  } catch (const nlohmann::json::exception&) {
    return refused(ErrorCode::corrupt);
  }
  return calibration;
}

Result<Calibration> load_calibration() {
  const auto path = calibration_path();
  return path ? load_calibration(*path) : Calibration{};
}

namespace {

/// Returns whether a readable file is there that is no calibration, not even a damaged one.
bool is_foreign(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kLargestCalibration, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return !text.empty() && text.find("\"layers\"") == std::string::npos;
}

}  // namespace

Result<CalibrationFile> CalibrationFile::create(const std::string& path) {
  std::error_code error;
  if (fs::is_regular_file(path, error) && is_foreign(path)) {
    return invalid(
        "{}: is there, and weft calibrate did not write it; name another file with "
        "--out or WEFT_CALIBRATION, or remove it",
        path);
  }
  fs::create_directories(fs::path(path).parent_path(), error);
  auto file = WholeFile::create(path);
  if (file) return CalibrationFile(std::move(*file));
  return make_error(ErrorCode::io, "{}; name another file with --out or WEFT_CALIBRATION",
                    file.error().message);
}

Result<void> CalibrationFile::store(const Calibration& calibration) {
  nlohmann::ordered_json layers = nlohmann::ordered_json::object();
  for (const auto& [layer, values] : calibration) {
    layers[layer] = {{"latency_ns", values.latency_ns},
                     {"bandwidth_bytes_per_s", values.bandwidth_bytes_per_s},
                     {"overhead_ns", values.overhead_ns}};
  }
  const nlohmann::ordered_json json{{"layers", layers}};
  if (auto written = file_.write(json.dump(2) + "\n"); !written) return written;
  return file_.commit();
}

}  // namespace weft::emulate
