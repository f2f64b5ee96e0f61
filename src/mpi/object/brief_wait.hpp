// SPDX-License-Identifier: Apache-2.0
// BriefWait: how a member waits for the others on a board before it waits as for messages.
#pragma once

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cstdint>

#include "mpi/object/board.hpp"
#include "runtime/cores.hpp"

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
  static int core() { return ::sched_getcpu(); }
  /// Returns whether the board's meeting is complete.
  bool until_complete(Board& board);

 private:
  /// As many take 50 us on a Zen 5.
  static constexpr int most_looks = 2000;
  /// The missing member may wait for another core, for which somebody else may wait who is not on
  /// the board: then it may find this one.
  static constexpr int looks_before_yield = 1000;
  /// Two rounds of all members on one core.
  static constexpr int most_yields = 32;
  /// Where waits are long, or others compute on these cores, a look takes time from those who could
  /// use it.
  static constexpr std::uint32_t most_skips = 16;
  static constexpr std::uint32_t waits_between_looks_at_clock = 256;
  /// Yields are seldom seen to last into another tick of the clock, which are milliseconds apart,
  /// unless each takes about as long. Then somebody computes on this core: the ordinary wait, which
  /// sleeps, loses less by that. An attempt costs all members a timeslice or more, so attempts
  /// become rare until one goes well.
  static constexpr std::uint32_t few_yields = 8;
  static constexpr std::uint32_t many_yields = 500;

  /// The clock that is cheapest to read.
  static std::int64_t tick_now() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return t.tv_sec * 1'000'000'000 + t.tv_nsec;
  }
  bool look_around(Board& board);
  bool give_way();
  [[gnu::noinline]] bool note_tick(std::int64_t now);
  [[gnu::noinline]] void spread_out(Board& board);

  std::uint32_t yields_since_tick_ = few_yields;
  std::int64_t crowded_until_ = 0;  // by that clock
  std::int64_t crowded_for_ = 0;
  /// Waits that are to be without a look, and how many that is after the next one that fails.
  std::uint32_t skips_ = 0;
  std::uint32_t next_skips_ = 1;
  std::uint32_t waits_ = 0;
  std::int64_t spread_out_again_ = 0;  // not before, by that clock
};

// Here, and not in the source: see transfer_board.hpp.

[[gnu::always_inline]] inline bool BriefWait::until_complete(Board& board) {
  if (skips_ > 0) {
    --skips_;
    return false;
  }
  const bool is_complete = look_around(board);
  if (!is_complete) skips_ = next_skips_;
  next_skips_ = is_complete ? 1 : std::min(next_skips_ * 2, most_skips);
  return is_complete;
}

[[gnu::always_inline]] inline bool BriefWait::look_around(Board& board) {
  if (++waits_ % waits_between_looks_at_clock == 0) spread_out(board);
  int looks = 0, yields = 0, here = core();
  for (;;) {
    const Board::Sight sight = board.look(here);
    if (sight == Board::Sight::complete) return true;
    const bool is_here = sight == Board::Sight::missing_here;
    if (is_here || ++looks % looks_before_yield == 0) {
      if (++yields > most_yields || looks >= most_looks || !give_way()) return false;
      here = core();
      board.move_to(here);
    } else {
      relax_core();
    }
  }
}

/// False: no more of it.
[[gnu::always_inline]] inline bool BriefWait::give_way() {
  const std::int64_t before = tick_now();
  if (before < crowded_until_) return false;
  ::sched_yield();
  ++yields_since_tick_;
  const std::int64_t after = tick_now();
  return after == before || note_tick(after);
}

}  // namespace weft::mpi
