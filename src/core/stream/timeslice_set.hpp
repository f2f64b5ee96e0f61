// SPDX-License-Identifier: Apache-2.0
// TimesliceSet: which timeslices a node has built. A compute node builds every n-th one while a
// view lasts, so that a set is a few runs however long the stream.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/ids.hpp"

namespace weft::stream {

/// The timeslices first, first + stride, … : `count` of them.
struct TimesliceRun {
  TimesliceIndex first{};
  std::uint64_t stride = 1;  ///< at least 1
  std::uint64_t count = 0;

  bool operator==(const TimesliceRun&) const = default;
};

class TimesliceSet {
 public:
  /// Any order, also again; memory grows by a run (24 bytes) each time that the step changes.
  void add(TimesliceIndex t);
  void add(const TimesliceRun& run) { runs_.push_back(run); }
  const std::vector<TimesliceRun>& runs() const { return runs_; }

 private:
  std::vector<TimesliceRun> runs_;
};

/// Returns how many different timeslices below `end` the runs contain. Takes time in proportion to
/// `end`.
std::uint64_t count_distinct(std::span<const TimesliceRun> runs, TimesliceIndex end);

}  // namespace weft::stream
