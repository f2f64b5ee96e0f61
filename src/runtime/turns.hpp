// SPDX-License-Identifier: Apache-2.0
// Turns: whether a driver and the peer that it waits for take turns on one core.
#pragma once

#include <algorithm>

#include "runtime/switch_time.hpp"
#include "weft/time.hpp"

namespace weft {

/// A driver with a core of its own polls for a while before it yields the core, since each yield
/// delays what it waits for. If its peer runs on the same core, the peer does not run before that:
/// each message then takes as long as a driver polls. Such waits end right after their first yield.
/// After some of them in a row, waits yield at once. One wait in each millisecond polls all the
/// same, and tells whether the peer runs elsewhere by then. One thread.
class Turns {
 public:
  /// `a_switch`: from one process to another and back, with what the caches lose.
  explicit Turns(Duration a_switch = usual_switch) : a_switch_(a_switch) {}

  /// A wait begins at `now`. Returns whether it yields at once.
  bool begin(Instant now) {
    yields_ = 0;
    if (score_ < shared) return false;
    if (now - last_trial_ < between_trials) return true;
    last_trial_ = now;
    return false;
  }
  /// A yield ended and lasted for `took`. Returns whether another process ran meanwhile.
  bool yielded(Duration took) {
    ++yields_;
    return has_switched_ = took >= a_switch_ * 2 / 3;
  }
  /// The wait ended with the arrival that it waited for.
  void ended() {
    if (yields_ == 0 || !has_switched_) {
      score_ = 0;
    } else {
      score_ = yields_ == 1 ? std::min(score_ + 1, most) : std::max(score_ - 4, 0);
    }
  }

 private:
  static constexpr Duration between_trials = Duration::milliseconds(1);
  static constexpr int shared = 4;
  static constexpr int most = 8;

  Duration a_switch_;          // to the same process and back takes a quarter of it
  int yields_ = 0;             // in this wait
  bool has_switched_ = false;  // by the latest yield
  int score_ = 0;
  Instant last_trial_{};
};

}  // namespace weft
