// SPDX-License-Identifier: Apache-2.0
// Eq. 4 of paper 1: when an interval's rounds start, and a round's contributions.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/schedule/dfs/arithmetic.hpp"
#include "weft/time.hpp"

namespace weft::schedule::dfs {

/// One interval's pace on the input's clock.
class RoundClock {
 public:
  RoundClock() = default;
  /// The interval started at `start` (tm_j) and should take `duration` (durp_j).
  RoundClock(Instant start, Duration duration, std::uint32_t rounds)
      : start_(start), duration_(duration), rounds_(rounds), round_began_(start) {}

  /// tr_{j,y} = tm_j + durr_j · y with durr_j = durp_j / rounds(j), divided last so that nothing is
  /// lost by rounding. Round `rounds` is the interval's end.
  Instant round_start(std::uint32_t round) const {
    return start_ + Duration(scale(duration_.ticks(), round, rounds_));
  }
  /// The first contribution of the round went out.
  void begin_round(std::uint32_t round, Instant now) {
    round_ = round;
    round_began_ = now;
  }
  /// Returns when contribution `step` of `steps` of a round is due. The first: at the round's
  /// start. The others: the time from then to the next round's start is divided fairly, so a round
  /// that began late is squeezed, and one that began after its end is sent at once.
  Instant due(std::uint32_t round, std::uint32_t step, std::uint32_t steps) const {
    if (step == 0 || round != round_) return round_start(round);
    const Duration left = std::max(round_start(round + 1) - round_began_, Duration{});
    return round_began_ + Duration(scale(left.ticks(), step, steps));
  }

 private:
  Instant start_{};
  Duration duration_{};
  std::uint32_t rounds_ = 1;
  std::uint32_t round_ = 0;
  Instant round_began_{};
};

}  // namespace weft::schedule::dfs
