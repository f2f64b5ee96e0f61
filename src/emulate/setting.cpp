// SPDX-License-Identifier: Apache-2.0
#include "emulate/setting.hpp"

#include <fmt/format.h>

namespace weft::emulate {
namespace {

constexpr double kPicosecondsPerNanosecond = 1e3;

Error uncalibrated(std::string_view option, const std::string& layer) {
  return {
      ErrorCode::not_found,
      fmt::format("{}: needs the native figures of {}, and {} has none: run weft calibrate once",
                  option, layer, calibration_path())};
}

Result<double> rate_of(const BandwidthAsked& asked, const std::string& layer,
                       const Calibration& calibration) {
  if (asked.rate) return static_cast<double>(asked.rate->bytes_per_second());
  if (asked.fraction.value_or(1) == 1) return 0.0;
  const auto found = calibration.find(layer);
  if (found == calibration.end()) return uncalibrated("--bandwidth", layer);
  return *asked.fraction * found->second.bandwidth_bytes_per_s;
}

}  // namespace

Result<Setting> set_knobs(const EmulationRequest& request, const std::string& layer,
                          const Calibration& calibration, Knobs& knobs) {
  Setting setting;
  const auto found = calibration.find(layer);
  const bool known = found != calibration.end();
  double added = static_cast<double>(request.latency.value.to_nanoseconds());
  if (known) {
    setting.latency_ns.native = found->second.latency_ns;
    setting.bandwidth.native = found->second.bandwidth_bytes_per_s;
    if (request.subtract_overhead) {
      knobs.overhead = static_cast<Picoseconds>(found->second.overhead_ns * 1e3);
    }
  }
  if (request.latency.in_all) {
    if (!known) return uncalibrated("--latency", layer);
    if (added < found->second.latency_ns) {
      return Error{
          ErrorCode::invalid_argument,
          fmt::format("--latency ={} ns: is below the native {:.0f} ns of {}; ask for more", added,
                      found->second.latency_ns, layer)};
    }
    setting.latency_ns.asked = added;
    added -= found->second.latency_ns;
  } else if (known && added > 0) {
    setting.latency_ns.asked = added + found->second.latency_ns;
  }
  knobs.latency = static_cast<Picoseconds>(added * kPicosecondsPerNanosecond);
  const auto rate = rate_of(request.bandwidth, layer, calibration);
  if (!rate) return rate.error();
  if (*rate > 0) setting.bandwidth.asked = *rate;
  knobs.rate = static_cast<std::uint64_t>(*rate);
  knobs.method = static_cast<std::uint32_t>(request.method);
  return setting;
}

Result<double> asked_rate(const EmulationRequest& request, const std::string& layer) {
  auto calibration = load_calibration(calibration_path());
  if (!calibration) return calibration.error();
  return rate_of(request.bandwidth, layer, *calibration);
}

}  // namespace weft::emulate
