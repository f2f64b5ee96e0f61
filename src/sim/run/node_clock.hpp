// SPDX-License-Identifier: Apache-2.0
// NodeClock is the clock of a simulated node: it is off by an offset, and runs fast or slow.
#pragma once

#include <cstdint>

#include "weft/time.hpp"

namespace weft::sim {

class NodeClock {
 public:
  /// `drift_per_billion`: how many nanoseconds the clock gains in a second.
  explicit NodeClock(Duration offset = {}, std::int64_t drift_per_billion = 0)
      : offset_(epoch + offset), drift_(drift_per_billion) {}

  /// Returns the time that the clock shows at the simulated instant `t`.
  Instant at(PicoInstant t) const {
    const std::int64_t ns = t.ticks() / 1'000;
    return Instant() + Duration(ns + gained(ns)) + offset_;
  }
  /// Returns the first simulated instant at which the clock shows `local` or later.
  PicoInstant when(Instant local) const {
    if (local == Instant::never()) return PicoInstant::never();
    const std::int64_t shown = (local - Instant() - offset_).ticks();
    std::int64_t ns = shown - gained(shown);
    while (ns + gained(ns) < shown) ++ns;
    while (ns > 0 && ns - 1 + gained(ns - 1) >= shown) --ns;
    return PicoInstant(ns * 1'000);
  }
  /// Sets the clock: from now on it shows a time later by `by`, or earlier if `by` is negative.
  void jump(Duration by) { offset_ += by; }

 private:
  /// Clocks start here, so that a negative offset leaves them above zero.
  static constexpr Duration epoch = Duration::seconds(1'000);

  __extension__ using Wide = __int128;

  std::int64_t gained(std::int64_t ns) const {
    return static_cast<std::int64_t>(static_cast<Wide>(ns) * drift_ / 1'000'000'000);
  }

  Duration offset_;
  std::int64_t drift_;
};

}  // namespace weft::sim
