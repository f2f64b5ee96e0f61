// SPDX-License-Identifier: Apache-2.0
// BuiltBefore: which timeslices the compute nodes built in earlier views, as an input node knows
// it. Each view adds a run per compute node, and a stream may have any number of views; the memory
// for them is bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/stream/timeslice_set.hpp"

namespace weft::stream {

/// Timeslices that a compute node is known to have built, whether it lives to tell or not.
struct BuiltBy {
  /// The number of compute nodes stands for any of them: a view says what was done, not by whom.
  std::uint32_t compute = 0;
  TimesliceRun run;

  bool operator==(const BuiltBy&) const = default;
};

class BuiltBefore {
 public:
  /// Which of `computes` nodes built a timeslice is forgotten, the oldest ones first, when there
  /// are more than `most` runs. That a timeslice was built is never forgotten.
  BuiltBefore(std::uint32_t computes, std::size_t most) : computes_(computes), most_(most) {}

  void add(const BuiltBy& built) { built_.push_back(built); }
  /// All timeslices below are built, whoever did it.
  void add_all_below(TimesliceIndex end) { add({computes_, {TimesliceIndex{}, 1, end.value()}}); }
  /// Call it with each new view, which begins at `end`: all below are built. What remains is at
  /// most `most` runs, and those that reach `end`, of which a window's timeslices are the limit.
  void bound(TimesliceIndex end);

  const std::vector<BuiltBy>& runs() const { return built_; }

 private:
  std::uint32_t computes_;
  std::size_t most_;
  std::vector<BuiltBy> built_;
};

}  // namespace weft::stream
