// SPDX-License-Identifier: Apache-2.0
// How a grid's rounds are grouped into intervals (paper 1, section III).
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/schedule/schedule.hpp"
#include "weft/ids.hpp"

namespace weft::schedule::dfs {

/// Intervals of a grid are numbered from the grid's first timeslice on. Since no two intervals
/// start with the same timeslice, the numbers go on ascending from grid to grid, and every node
/// knows them without having seen earlier grids.
class IntervalGrid {
 public:
  IntervalGrid() = default;
  IntervalGrid(const RoundGrid& grid, std::uint32_t timeslices_per_interval)
      : grid_(grid), rounds_(std::max(1u, timeslices_per_interval / grid.computes)) {}

  const RoundGrid& rounds_grid() const { return grid_; }
  std::uint32_t computes() const { return grid_.computes; }
  /// Rounds of every interval.
  std::uint32_t rounds() const { return rounds_; }
  /// Contributions that one input sends in every interval.
  std::uint64_t contributions() const { return std::uint64_t{rounds_} * grid_.computes; }

  IntervalId first_id() const { return IntervalId(grid_.first.value()); }
  bool contains(TimesliceIndex t) const { return t >= grid_.first; }
  IntervalId interval_of(TimesliceIndex t) const {
    return first_id().plus((t.value() - grid_.first.value()) / contributions());
  }
  /// Round within its interval.
  std::uint32_t round_of(TimesliceIndex t) const {
    return static_cast<std::uint32_t>(grid_.round_of(t) % rounds_);
  }
  std::uint32_t compute_of(TimesliceIndex t) const { return grid_.compute_of(t); }

  /// The timeslice of compute node `compute` in round `round` of interval `id` ≥ first_id().
  TimesliceIndex timeslice(IntervalId id, std::uint32_t round, std::uint32_t compute) const {
    const std::uint64_t intervals_before = id.value() - grid_.first.value();
    return grid_.timeslice(intervals_before * rounds_ + round, compute);
  }
  TimesliceIndex first_timeslice(IntervalId id) const { return timeslice(id, 0, 0); }

 private:
  RoundGrid grid_{};
  std::uint32_t rounds_ = 1;
};

}  // namespace weft::schedule::dfs
