// SPDX-License-Identifier: Apache-2.0
// Integer time. Protocol machines count nanoseconds, the packet models count picoseconds; the two
// are different types, so that mixing them does not compile.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace weft {

struct NanosecondTick {
  static constexpr std::int64_t per_second = 1'000'000'000;
};
struct PicosecondTick {
  static constexpr std::int64_t per_second = 1'000'000'000'000;
};

/// A signed span of time in whole ticks. Arithmetic is exact, except that divisions round toward
/// zero. No operation checks for overflow, which is undefined behaviour: a span holds 292 years in
/// nanoseconds, 106 days in picoseconds.
template <class Tick>
class BasicDuration {
 public:
  constexpr BasicDuration() = default;
  constexpr explicit BasicDuration(std::int64_t ticks) : ticks_(ticks) {}

  static constexpr BasicDuration seconds(std::int64_t n) {
    return BasicDuration(n * Tick::per_second);
  }
  static constexpr BasicDuration milliseconds(std::int64_t n) {
    return BasicDuration(n * (Tick::per_second / 1'000));
  }
  static constexpr BasicDuration microseconds(std::int64_t n) {
    return BasicDuration(n * (Tick::per_second / 1'000'000));
  }
  static constexpr BasicDuration nanoseconds(std::int64_t n) {
    return BasicDuration(n * (Tick::per_second / 1'000'000'000));
  }
  /// Rounds toward zero. Use it for configuration and display, not in machines.
  static constexpr BasicDuration from_seconds(double s) {
    return BasicDuration(static_cast<std::int64_t>(s * static_cast<double>(Tick::per_second)));
  }
  static constexpr BasicDuration max() {
    return BasicDuration(std::numeric_limits<std::int64_t>::max());
  }

  constexpr std::int64_t ticks() const { return ticks_; }
  /// Rounds toward zero.
  constexpr std::int64_t to_nanoseconds() const {
    return ticks_ / (Tick::per_second / 1'000'000'000);
  }
  constexpr double to_seconds() const {
    return static_cast<double>(ticks_) / static_cast<double>(Tick::per_second);
  }
  constexpr double to_microseconds() const { return to_seconds() * 1e6; }

  constexpr auto operator<=>(const BasicDuration&) const = default;
  constexpr BasicDuration operator-() const { return BasicDuration(-ticks_); }
  constexpr BasicDuration& operator+=(BasicDuration d) {
    ticks_ += d.ticks_;
    return *this;
  }
  constexpr BasicDuration& operator-=(BasicDuration d) {
    ticks_ -= d.ticks_;
    return *this;
  }
  friend constexpr BasicDuration operator+(BasicDuration a, BasicDuration b) { return a += b; }
  friend constexpr BasicDuration operator-(BasicDuration a, BasicDuration b) { return a -= b; }
  friend constexpr BasicDuration operator*(BasicDuration a, std::int64_t n) {
    return BasicDuration(a.ticks_ * n);
  }
  friend constexpr BasicDuration operator/(BasicDuration a, std::int64_t n) {
    return BasicDuration(a.ticks_ / n);
  }
  friend constexpr std::int64_t operator/(BasicDuration a, BasicDuration b) {
    return a.ticks_ / b.ticks_;
  }

 private:
  std::int64_t ticks_ = 0;
};

/// A point in time on one node's clock, in ticks since that clock's own epoch. Instants of
/// different nodes are comparable only after clock synchronisation.
template <class Tick>
class BasicInstant {
 public:
  using Span = BasicDuration<Tick>;

  constexpr BasicInstant() = default;
  constexpr explicit BasicInstant(std::int64_t ticks) : ticks_(ticks) {}
  /// Returns the latest instant, which means "no deadline". Adding a positive span to it overflows.
  static constexpr BasicInstant never() {
    return BasicInstant(std::numeric_limits<std::int64_t>::max());
  }

  constexpr std::int64_t ticks() const { return ticks_; }
  constexpr auto operator<=>(const BasicInstant&) const = default;

  friend constexpr BasicInstant operator+(BasicInstant t, Span d) {
    return BasicInstant(t.ticks_ + d.ticks());
  }
  friend constexpr BasicInstant operator-(BasicInstant t, Span d) {
    return BasicInstant(t.ticks_ - d.ticks());
  }
  friend constexpr Span operator-(BasicInstant a, BasicInstant b) {
    return Span(a.ticks_ - b.ticks_);
  }

 private:
  std::int64_t ticks_ = 0;
};

using Duration = BasicDuration<NanosecondTick>;
using Instant = BasicInstant<NanosecondTick>;
using PicoDuration = BasicDuration<PicosecondTick>;
using PicoInstant = BasicInstant<PicosecondTick>;

/// Overflows beyond 106 days.
constexpr PicoDuration to_pico(Duration d) {
  return PicoDuration(d.ticks() * 1'000);
}
constexpr PicoInstant to_pico(Instant t) {
  return PicoInstant(t.ticks() * 1'000);
}
/// Rounds up, so that a model never answers earlier than it computed.
constexpr Duration to_nano(PicoDuration d) {
  return Duration((d.ticks() + (d.ticks() > 0 ? 999 : 0)) / 1'000);
}
constexpr Instant to_nano(PicoInstant t) {
  return Instant((t.ticks() + (t.ticks() > 0 ? 999 : 0)) / 1'000);
}

}  // namespace weft
