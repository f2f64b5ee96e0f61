// SPDX-License-Identifier: Apache-2.0
// Analysis of a sweep: how the program reacts to latency and to bandwidth.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "core/sweep/model.hpp"

namespace weft::sweep {

/// The slow-downs for which the analysis states tolerance and headroom.
inline constexpr std::array<double, 3> slow_downs{0.01, 0.05, 0.10};

struct Analysis {
  Point baseline;  ///< the least latency, and of its points the largest bandwidth
  double baseline_s = 0;

  /// dT/dL at the baseline's bandwidth: messages that follow one another on the critical path, two
  /// of them a round trip. At the least latency, and at the largest, where nothing is hidden any
  /// more. None when latency was not varied.
  std::optional<double> slope_at_baseline;
  std::optional<double> slope;
  /// Seconds that transfers take on the critical path at the full bandwidth, at the smallest
  /// bandwidth. None when bandwidth was not varied.
  std::optional<double> transfer_s;

  /// The largest latency with which the program is at most so much slower (`slow_downs`) at the
  /// baseline's bandwidth; none when no measured latency slows it down so much.
  std::array<std::optional<double>, slow_downs.size()> tolerance_s;
  /// The smallest bandwidth, at the baseline's latency, in the same way.
  std::array<std::optional<double>, slow_downs.size()> headroom;

  /// The points at which the slope changes: latencies ascending, bandwidths descending.
  std::vector<double> latency_knees_s;
  std::vector<double> bandwidth_knees;

  FittedModel fitted;
};

/// Observations are medians of points that differ from each other; at least one. Their order does
/// not matter. Tolerance and headroom are read from the medians, between which time is linear in
/// latency and in the inverse of bandwidth; a point that is faster than one of a faster network is
/// taken together with it, since that is noise.
Analysis analyse(std::span<const Observation> observations);

}  // namespace weft::sweep
