// SPDX-License-Identifier: Apache-2.0
// PollingPace: how often to poll a source that costs a system call and mostly has no news.
#pragma once

#include <algorithm>

#include "weft/time.hpp"

namespace weft {

/// Paces polls: the caller polls a source that had news again at once, a silent one less and less
/// often.
class PollingPace {
 public:
  /// The first poll that brings nothing begins a pause of `shortest`; each further one doubles the
  /// pause, up to `longest`, which is not below `shortest`.
  PollingPace(Duration shortest, Duration longest) : shortest_(shortest), longest_(longest) {}

  bool is_due(Instant now) const { return now >= next_; }
  /// The caller has polled.
  void asked(Instant now, bool had_something) {
    interval_ = had_something ? Duration{} : std::clamp(interval_ * 2, shortest_, longest_);
    next_ = now + interval_;
  }
  /// The source is likely to have news: the next poll is due at once.
  void expect_something() {
    interval_ = Duration{};
    next_ = Instant{};
  }
  /// Limits later pauses to `longest`, which is not below `shortest`.
  void set_longest(Duration longest) { longest_ = longest; }

 private:
  Duration shortest_, longest_;
  Duration interval_{};
  Instant next_{};
};

}  // namespace weft
