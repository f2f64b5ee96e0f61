// SPDX-License-Identifier: Apache-2.0
// NodeClock: the clock of a simulated node: off by an offset, running fast or slow.
#pragma once

#include <cstdint>

#include "weft/time.hpp"

namespace weft::sim {

class NodeClock {
 public:
  /// `drift_per_billion`: how many nanoseconds the clock gains in a second.
  explicit NodeClock(Duration offset = {}, std::int64_t drift_per_billion = 0)
      : offset_(epoch + offset), drift_(drift_per_billion) {}

  /// The time that it shows at the simulated instant `t`.
  Instant at(PicoInstant t) const {
    const std::int64_t ns = t.ticks() / 1'000;
    return Instant() + Duration(ns + gained(ns)) + offset_;
  }
  /// The first simulated instant at which it shows `local` or later.
  PicoInstant when(Instant local) const {
    if (local == Instant::never()) return PicoInstant::never();
    const std::int64_t shown = (local - Instant() - offset_).ticks();
    std::int64_t ns = shown - gained(shown);
    while (ns + gained(ns) < shown) ++ns;
    while (ns > 0 && ns - 1 + gained(ns - 1) >= shown) --ns;
    return PicoInstant(ns * 1'000);
  }
  /// The clock is set: from now on it shows so much more (or less).
  void jump(Duration by) { offset_ += by; }

 private:
  /// So that no clock shows a time before its own beginning.
  static constexpr Duration epoch = Duration::seconds(1'000);

  __extension__ using Wide = __int128;

  std::int64_t gained(std::int64_t ns) const {
    return static_cast<std::int64_t>(static_cast<Wide>(ns) * drift_ / 1'000'000'000);
  }

  Duration offset_;
  std::int64_t drift_;
};

}  // namespace weft::sim
