// SPDX-License-Identifier: Apache-2.0
// BriefWait: how a member waits for the others on a board before it waits as for messages.
#pragma once

#include <cstdint>

#include "mpi/object/board.hpp"

namespace weft::mpi {

/// Waits of a process on its boards, for some ten microseconds each. A board shows who is missing,
/// and on which core that member ran last. If it is this one, a wait gives the core away at once.
/// Else it looks on: the missing member runs, or waits for a core that another member gives away.
/// So where members share cores, a meeting takes as few switches between processes as possible. The
/// core with most members determines how many it takes: now and then one of them moves to another
/// core. The kernel, which sees that all cores are busy, would leave them where they are. One
/// thread.
class BriefWait {
 public:
  /// The core on which this thread runs.
  static int core();
  /// Returns whether the board's meeting is complete.
  bool until_complete(Board& board);

 private:
  bool look_around(Board& board);
  bool give_way();
  void spread_out(Board& board);

  /// Yields are seldom seen to last into another tick of the clock, which are milliseconds apart,
  /// unless each takes about as long. Then somebody computes on this core: the ordinary wait, which
  /// sleeps, loses less by that. An attempt costs all members a timeslice or more, so attempts
  /// become rare until one goes well.
  static constexpr std::uint32_t few_yields = 8;
  static constexpr std::uint32_t many_yields = 500;
  std::uint32_t yields_since_tick_ = few_yields;
  std::int64_t crowded_until_ = 0;  // by that clock
  std::int64_t crowded_for_ = 0;
  /// Waits that are to be without a look, and how many that is after the next one that fails.
  std::uint32_t skips_ = 0;
  std::uint32_t next_skips_ = 1;
  std::uint32_t waits_ = 0;
  std::int64_t spread_out_again_ = 0;  // not before, by that clock
};

}  // namespace weft::mpi
