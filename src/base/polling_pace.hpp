// SPDX-License-Identifier: Apache-2.0
// PollingPace: how often to ask something that costs a system call and mostly has nothing to say.
#pragma once

#include <algorithm>

#include "weft/time.hpp"

namespace weft {

/// Paces polls: a source that had something is polled again at once, a silent one ever more seldom.
class PollingPace {
 public:
  /// `shortest`: after the first time that brought nothing; twice as long after each other, up to
  /// `longest`.
  PollingPace(Duration shortest, Duration longest) : shortest_(shortest), longest_(longest) {}

  bool is_due(Instant now) const { return now >= next_; }
  void asked(Instant now, bool had_something) {
    interval_ = had_something ? Duration{} : std::clamp(interval_ * 2, shortest_, longest_);
    next_ = now + interval_;
  }
  /// It is due, and likely to have something to say.
  void expect_something() {
    interval_ = Duration{};
    next_ = Instant{};
  }
  /// From now on; not below `shortest`.
  void set_longest(Duration longest) { longest_ = longest; }

 private:
  Duration shortest_, longest_;
  Duration interval_{};
  Instant next_{};
};

}  // namespace weft
