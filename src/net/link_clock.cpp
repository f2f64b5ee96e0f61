// SPDX-License-Identifier: Apache-2.0
#include "net/link_clock.hpp"

namespace weft::net {

LinkClock::Wide LinkClock::work(PicoInstant now, Bandwidth rate) const {
  const PicoInstant before = whole_before();
  if (now > before) return 0;
  const auto whole = static_cast<std::uint64_t>((before - now).ticks());
  return Wide{whole} * rate.bytes_per_second() + remainder_;
}

/// Busy from `from` on with so much work, and free then.
void LinkClock::add(PicoInstant from, Wide work, Bandwidth rate) {
  const std::uint64_t per_second = rate.bytes_per_second();
  if (per_second == 0) return advance(from, 0, 0);
  const Wide whole = work / per_second;
  const auto room = static_cast<std::uint64_t>((PicoInstant::never() - from).ticks());
  WEFT_CHECK(whole < room, "a link of {} B/s is busy for more than 106 days", per_second);
  advance(from, static_cast<std::uint64_t>(whole),
          static_cast<std::uint64_t>(work - whole * per_second));
}

void LinkClock::change_rate(PicoInstant now, Bandwidth before, Bandwidth after) {
  const Wide left = work(now, before);
  if (left > 0) {
    add(now, left, after);
  } else {
    free_at_ = whole_before();
    remainder_ = 0;
  }
}

}  // namespace weft::net
