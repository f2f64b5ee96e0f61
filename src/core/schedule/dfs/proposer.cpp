// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/dfs/proposer.hpp"

#include <algorithm>

namespace weft::schedule::dfs {

namespace {

Wide absolute_difference(const UnifiedInterval& interval) {
  const Duration difference = interval.median_duration - interval.median_proposed;
  return difference < Duration{} ? (-difference).ticks() : difference.ticks();
}

bool had_proposal(const UnifiedInterval& interval) {
  return interval.median_proposed > Duration{};
}

}  // namespace

Proposer::Proposer(const DfsOptions& options)
    : threshold_(basis_points(options.speed_up_threshold_percent)),
      speed_up_(basis_points(options.speed_up_percent)) {
  scratch_.reserve(options.history_length);
}

Duration Proposer::median_duration(const HistoryManager& history) {
  scratch_.clear();
  for (std::uint32_t n = 0; n < history.size(); ++n) {
    scratch_.push_back(history.latest(n).median_duration.ticks());
  }
  return Duration(median(scratch_));
}

Deviation Proposer::deviation(const HistoryManager& history) {
  Deviation result;
  Wide sum = 0;
  for (std::uint32_t n = 0; n < history.size(); ++n) {
    if (!had_proposal(history.latest(n))) continue;
    ++result.intervals;
    sum += absolute_difference(history.latest(n));
  }
  if (result.intervals == 0) return result;
  const Wide mean = sum / result.intervals;
  Wide squares = 0;
  for (std::uint32_t n = 0; n < history.size(); ++n) {
    if (!had_proposal(history.latest(n))) continue;
    const Wide from_mean = absolute_difference(history.latest(n)) - mean;
    squares += from_mean * from_mean;
  }
  result.mean = Duration(static_cast<std::int64_t>(mean));
  result.variance = squares / result.intervals;
  return result;
}

bool Proposer::may_speed_up(const Deviation& deviation, Duration median_duration) const {
  if (deviation.intervals == 0) return false;
  // √VAR / median ≤ TH / whole, squared and multiplied out; every factor stays inside of Wide
  // because durations are below 2^45 ns and percentages below 2^17 basis points.
  const Wide limit = Wide{median_duration.ticks()} * threshold_ / whole_in_basis_points;
  return deviation.variance <= limit * limit;
}

Plan Proposer::plan(const HistoryManager& history) {
  const UnifiedInterval& last = history.latest();
  const Duration spacing = std::max(median_duration(history), Duration(1));
  Duration duration = spacing;
  if (may_speed_up(deviation(history), spacing)) {
    duration =
        Duration(scale(spacing.ticks(), whole_in_basis_points - speed_up_, whole_in_basis_points));
    duration = std::max(duration, Duration(1));
  }
  return Plan(last.id, last.average_start + last.median_duration, spacing, duration);
}

}  // namespace weft::schedule::dfs
