// SPDX-License-Identifier: Apache-2.0
// Patience: for how long a driver that shares cores looks for what it waits for, before it lets
// others have the core.
#pragma once

#include <algorithm>

#include "weft/time.hpp"

namespace weft {

/// A peer that runs at the same moment, on another core, answers within less than a switch between
/// processes takes: a driver that polls for that long spares both of them a switch, and both
/// continue for a whole timeslice. Where the peer waits for a core itself each look takes time away
/// from it. Waits of late show which it is. One that looks in vain loses about what it could have
/// won.
class Patience {
 public:
  /// A wait begins.
  Duration begin(Instant now) const { return score_ >= 0 || is_trial(now) ? a_switch : Duration{}; }
  /// A wait ended before the core was given away, or the core was given away after having looked.
  void paid() { score_ = std::min(score_ + 1, most); }
  void failed() { score_ = std::max(score_ - 3, -most); }

 private:
  /// From one process to another and back, with what the caches lose.
  static constexpr Duration a_switch = Duration::nanoseconds(1500);
  static constexpr int most = 32;
  static constexpr Duration trial = Duration::microseconds(64);
  static constexpr Duration between_trials = Duration::milliseconds(1);

  /// It pays only where both look: trials are at the same time in all processes of a machine.
  static bool is_trial(Instant now) {
    return (now - Instant{}).ticks() % between_trials.ticks() < trial.ticks();
  }

  int score_ = most;
};

}  // namespace weft
