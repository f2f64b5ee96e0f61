// SPDX-License-Identifier: Apache-2.0
// Patience: for how long a driver that shares cores looks for what it waits for, before it lets
// others have the core.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/rng.hpp"
#include "runtime/switch_time.hpp"
#include "weft/time.hpp"

namespace weft {

/// A peer that runs at the same moment, on another core, answers within less than a switch between
/// processes takes: whoever looks for it that long spares both of them a switch, and the two go on
/// for a whole timeslice. Where the peer waits for a core itself each look takes time away from it.
/// Waits of late show which it is. One that looks in vain loses about what it could have won.
///
/// The first waits after a switch are judged apart from later ones, each by its like: in a barrier
/// of more processes than cores the first is for those that run now, on other cores, and the last
/// for one that needs this core. A long row of waits without a switch is worth all the looks that
/// led to it, though most first ones may have been in vain.
///
/// Two pairs on two cores may run crosswise: on each core one of another pair, which looks in vain,
/// and gives way to one that then looks in vain. With looks of one length both cores change at the
/// same time, and stay crosswise. A coin makes some looks longer than a switch and a look of
/// others, so that the peer comes while one still looks.
class Patience {
 public:
  /// `seed` determines the coin's draws; each process needs a seed of its own. `a_switch`: from one
  /// process to another and back, with what the caches lose.
  explicit Patience(std::uint64_t seed, Duration a_switch = usual_switch)
      : coin_(seed),
        a_switch_(a_switch),
        between_trials_(usually_between_trials * (a_switch / usual_switch)) {}

  /// A wait begins.
  Duration begin(Instant now) {
    latest_ = waits_;
    waits_ = std::min(waits_ + 1, last);
    if (scores_[latest_] < 0 && !is_trial(now)) return {};
    return (coin_.next() & 1) != 0 ? a_switch_ * 10 / 3 : a_switch_;
  }
  /// A wait ended before the core was given away, or the core was given away after having looked.
  void paid() {
    score() = std::min(score() + 1, most);
    if (++in_row_ == long_row) {
      for (int& score : scores_) score = std::min(score + worth_of_row, most);
    }
  }
  void failed() {
    score() = std::max(score() - 2, -most);
    in_row_ = 0;
  }
  /// The core was given away: a switch.
  void gave_way() { waits_ = in_row_ = 0; }

 private:
  static constexpr int most = 32;
  static constexpr std::size_t long_row = 32;
  static constexpr int worth_of_row = 24;
  static constexpr Duration usually_between_trials = Duration::milliseconds(1);
  static constexpr std::int64_t trials_part = 16;
  static constexpr std::size_t last = 3;

  /// It pays only where both look: trials are at the same time in all processes of a machine.
  bool is_trial(Instant now) const {
    return (now - Instant{}).ticks() % between_trials_.ticks() <
           between_trials_.ticks() / trials_part;
  }
  int& score() { return scores_[latest_]; }

  Rng coin_;
  Duration a_switch_;
  Duration between_trials_;
  std::array<int, last + 1> scores_{most, most, most, most};  // by waits since the last switch
  std::size_t in_row_ = 0;                                    // that paid, since the last switch
  std::size_t waits_ = 0;   // since the last switch, those beyond `last` not counted
  std::size_t latest_ = 0;  // whose score the latest wait has
};

}  // namespace weft
