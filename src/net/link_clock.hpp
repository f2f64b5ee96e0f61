// SPDX-License-Identifier: Apache-2.0
// LinkClock: the time at which a link's transmitter becomes free, the only state of a LinkModel.
// Models of many links hold one LinkClock per link and store rates and latencies elsewhere.
#pragma once

#include <cstdint>

#include "base/check.hpp"
#include "weft/ids.hpp"
#include "weft/time.hpp"

namespace weft::net {

/// Computes departure times with LinkModel's exactness. The caller passes the link's rate to every
/// call; a rate of zero means infinitely fast. One thread at a time.
class LinkClock {
 public:
  __extension__ using Wide = unsigned __int128;

  /// The times at which the first bit enters the link and the last bit leaves the transmitter.
  struct Times {
    PicoInstant start;
    PicoInstant departure;
  };

  /// Queues `bytes` at `now` behind all earlier calls, even behind those with a later `now`.
  Times send(PicoInstant now, std::uint64_t bytes, Bandwidth rate) {
    // At free_at() itself the rest is not yet over: a sender that comes when it is told to would
    // lose a part of a picosecond each time.
    if (now > free_at_) {
      free_at_ = now;
      remainder_ = 0;
    }
    const PicoInstant start = free_at_;
    const std::uint64_t per_second = rate.bytes_per_second();
    if (bytes <= kFewBytes && remainder_ <= kSmallRemainder && per_second > 0 && start < kLate) {
      const std::uint64_t work = bytes * PicosecondTick::per_second + remainder_;
      advance(whole_before(), work / per_second, work % per_second);
    } else {
      add(whole_before(), Wide{bytes} * PicosecondTick::per_second + remainder_, rate);
    }
    return {start, free_at_};
  }
  /// Keeps the transmitter busy until `until` without sending.
  void occupy_until(PicoInstant until) {
    if (until <= free_at_) return;
    free_at_ = until;
    remainder_ = 0;
  }
  /// Returns the time at which the transmitter has sent everything, rounded up to a picosecond; a
  /// past time when the transmitter is idle.
  const PicoInstant& free_at() const { return free_at_; }

  /// Returns the work left at `now` in bytes · 10¹², which is rate · picoseconds.
  Wide work(PicoInstant now, Bandwidth rate) const;
  /// Changes the rate at `now`; the bytes not yet sent leave at the new rate.
  void change_rate(PicoInstant now, Bandwidth before, Bandwidth after);
  /// Returns the last whole picosecond at which the transmitter is busy.
  PicoInstant whole_before() const { return free_at_ - PicoDuration(remainder_ > 0 ? 1 : 0); }
  /// Returns the work left at `whole_before()`, in the unit of `work`; less than the rate.
  std::uint64_t remainder() const { return remainder_; }

 private:
  // Within these bounds 64 bits hold the work, and no time overflows.
  static constexpr std::uint64_t kFewBytes = 4'000'000;
  static constexpr std::uint64_t kSmallRemainder = 500'000'000'000'000'000;
  static constexpr PicoInstant kLate{4'500'000'000'000'000'000};

  void advance(PicoInstant from, std::uint64_t whole, std::uint64_t remainder) {
    remainder_ = remainder;
    free_at_ = from + PicoDuration(static_cast<std::int64_t>(whole) + (remainder > 0 ? 1 : 0));
  }
  void add(PicoInstant from, Wide work, Bandwidth rate);

  // The exact time is whole_before() + remainder_ / rate; free_at_ rounds it up.
  PicoInstant free_at_{};
  std::uint64_t remainder_ = 0;  // < rate
};

}  // namespace weft::net
