// SPDX-License-Identifier: Apache-2.0
// Points in time on clocks that are not the holder's own. An Instant (weft/time.hpp) is of the
// clock that drives its holder; a time from a message is of some other clock.
#pragma once

#include <compare>
#include <cstdint>

#include "weft/time.hpp"

namespace weft {

/// A point in time on `Clock`, in nanoseconds. Instants of two clocks are of two types: they
/// neither compare nor subtract, and become each other only by `own_as`, `as_own` or a ClockOffset.
template <class Clock>
class InstantOf {
 public:
  constexpr InstantOf() = default;
  constexpr explicit InstantOf(std::int64_t ticks) : ticks_(ticks) {}

  constexpr std::int64_t ticks() const { return ticks_; }
  constexpr auto operator<=>(const InstantOf&) const = default;

  friend constexpr InstantOf operator+(InstantOf t, Duration d) {
    return InstantOf(t.ticks_ + d.ticks());
  }
  friend constexpr InstantOf operator-(InstantOf t, Duration d) {
    return InstantOf(t.ticks_ - d.ticks());
  }
  friend constexpr Duration operator-(InstantOf a, InstantOf b) {
    return Duration(a.ticks_ - b.ticks_);
  }

 private:
  std::int64_t ticks_ = 0;
};

/// The monotonic clock that all processes of one host share; another host has another one.
struct HostClock {};
/// The clock of the node that asked for the time.
struct AskingClock {};
/// The clock of node 0, on which a job's reports state their times.
struct LeaderClock {};

using HostInstant = InstantOf<HostClock>;

/// For code that `Clock` drives: its own instants are of that clock.
template <class Clock>
constexpr InstantOf<Clock> own_as(Instant own) {
  return InstantOf<Clock>(own.ticks());
}
template <class Clock>
constexpr Instant as_own(InstantOf<Clock> t) {
  return Instant(t.ticks());
}

/// How far `Clock` is ahead of the holder's own.
template <class Clock>
class ClockOffset {
 public:
  constexpr ClockOffset() = default;
  /// The two instants are the same moment.
  constexpr ClockOffset(Instant own, InstantOf<Clock> other)
      : ahead_(other.ticks() - own.ticks()) {}

  constexpr InstantOf<Clock> at(Instant own) const {
    return InstantOf<Clock>((own + ahead_).ticks());
  }
  constexpr Duration ahead() const { return ahead_; }

 private:
  Duration ahead_{};
};

}  // namespace weft
