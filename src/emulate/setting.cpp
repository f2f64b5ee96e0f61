// SPDX-License-Identifier: Apache-2.0
#include "emulate/setting.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/make_error.hpp"

namespace weft::emulate {
namespace {

constexpr double kPicosecondsPerNanosecond = 1e3;

Error uncalibrated(std::string_view option, const std::string& layer) {
  const auto path = calibration_path();
  if (!path) return {path.error().code, fmt::format("{}: {}", option, path.error().message)};
  return make_error(ErrorCode::not_found,
                    "{}: needs the native figures of {}, and {} has none: run weft calibrate once",
                    option, layer, *path);
}

Result<double> rate_of(const BandwidthAsked& asked, const std::string& layer,
                       const Calibration& calibration) {
  if (asked.rate) return static_cast<double>(asked.rate->bytes_per_second());
  if (asked.fraction.value_or(1) == 1) return 0.0;
  const auto found = calibration.find(layer);
  if (found == calibration.end()) return uncalibrated("--bandwidth", layer);
  const double rate = *asked.fraction * found->second.bandwidth_bytes_per_s;
  if (rate >= kSlowestRate && rate <= kFastestRate) return rate;
  return invalid(
      "--bandwidth {}%: is {:.3g} B/s of {}, and an emulated rate lies between 1 kB/s and 1 TB/s; "
      "ask for another percentage",
      *asked.fraction * 100, rate, layer);
}

/// Padding that leaves the program the part of the bandwidth that was asked for.
Result<PaddingRatio> padding_ratio(const BandwidthAsked& asked, const std::string& layer,
                                   const Calibration& calibration) {
  constexpr double kUnit = 4'294'967'296.0;  // of a PaddingRatio: 2³²
  constexpr double kLeastPart = 1e-6;
  double part = asked.fraction.value_or(1);
  if (asked.rate) {
    const auto found = calibration.find(layer);
    if (found == calibration.end()) return uncalibrated("--method padding", layer);
    part =
        static_cast<double>(asked.rate->bytes_per_second()) / found->second.bandwidth_bytes_per_s;
  }
  if (part < kLeastPart) {
    return Error{ErrorCode::invalid_argument,
                 "--bandwidth: padding cannot leave less than a millionth; ask for more, or leave "
                 "--method padding out"};
  }
  return static_cast<PaddingRatio>(std::max(0.0, 1 / part - 1) * kUnit);
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
      return invalid("--latency ={} ns: is below the native {:.0f} ns of {}; ask for more", added,
                     found->second.latency_ns, layer);
    }
    setting.latency_ns.asked = added;
    added -= found->second.latency_ns;
  } else if (known && added > 0) {
    setting.latency_ns.asked = added + found->second.latency_ns;
  }
  knobs.latency = static_cast<Picoseconds>(added * kPicosecondsPerNanosecond);
  // A part by padding needs no native figure: it is a ratio of bytes.
  const bool is_ratio = request.padding && request.bandwidth.fraction && !known;
  const auto rate = is_ratio ? Result<double>(0.0) : rate_of(request.bandwidth, layer, calibration);
  if (!rate) return rate.error();
  if (*rate > 0) setting.bandwidth.asked = *rate;
  if (request.padding) {
    const auto ratio = padding_ratio(request.bandwidth, layer, calibration);
    if (!ratio) return ratio.error();
    knobs.padding = *ratio;
  } else {
    knobs.rate = static_cast<std::uint64_t>(*rate);
  }
  knobs.method = static_cast<std::uint32_t>(request.method);
  return setting;
}

Result<double> asked_rate(const EmulationRequest& request, const std::string& layer) {
  auto calibration = load_calibration();
  if (!calibration) return calibration.error();
  return rate_of(request.bandwidth, layer, *calibration);
}

}  // namespace weft::emulate
