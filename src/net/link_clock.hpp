// SPDX-License-Identifier: Apache-2.0
// LinkClock: when a link's transmitter is free: what LinkModel knows of the past. For models of
// many links, which keep the links' properties elsewhere.
#pragma once

#include <cstdint>

#include "base/check.hpp"
#include "weft/ids.hpp"
#include "weft/time.hpp"

namespace weft::net {

/// Exact as LinkModel says. All calls are given the link's rate; zero: infinitely fast.
class LinkClock {
 public:
  __extension__ using Wide = unsigned __int128;

  /// When the first bit enters the link, and when the last one has left the transmitter.
  struct Times {
    PicoInstant start;
    PicoInstant departure;
  };

  /// Bytes enter the queue at `now`. Calls are served in the order made, not in that of `now`.
  Times send(PicoInstant now, std::uint64_t bytes, Bandwidth rate) {
    if (now >= free_at_) {
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
  /// Keeps the transmitter busy until `until`, though it has nothing to send.
  void occupy_until(PicoInstant until) {
    if (until <= free_at_) return;
    free_at_ = until;
    remainder_ = 0;
  }
  /// When the transmitter will have nothing left to send, rounded up; in the past for an idle one.
  const PicoInstant& free_at() const { return free_at_; }

  /// The work left at `now`, in bytes · 10¹² (that is, rate · picoseconds).
  Wide work(PicoInstant now, Bandwidth rate) const;
  /// The rate changes at `now`.
  void change_rate(PicoInstant now, Bandwidth before, Bandwidth after);
  /// The last whole picosecond of being busy, and the rest of the work then: < rate.
  PicoInstant whole_before() const { return free_at_ - PicoDuration(remainder_ > 0 ? 1 : 0); }
  std::uint64_t remainder() const { return remainder_; }

 private:
  // With these, work is a 64-bit number, and the end of time is far away.
  static constexpr std::uint64_t kFewBytes = 4'000'000;
  static constexpr std::uint64_t kSmallRemainder = 500'000'000'000'000'000;
  static constexpr PicoInstant kLate{4'500'000'000'000'000'000};

  void advance(PicoInstant from, std::uint64_t whole, std::uint64_t remainder) {
    remainder_ = remainder;
    free_at_ = from + PicoDuration(static_cast<std::int64_t>(whole) + (remainder > 0 ? 1 : 0));
  }
  void add(PicoInstant from, Wide work, Bandwidth rate);

  PicoInstant free_at_{};        // the transmitter is free a part of a picosecond before, namely
  std::uint64_t remainder_ = 0;  // at whole_before() + remainder_ / rate; < rate
};

}  // namespace weft::net
