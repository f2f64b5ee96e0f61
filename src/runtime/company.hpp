// SPDX-License-Identifier: Apache-2.0
// Company: to which core's place a driver goes, where drivers share cores.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "weft/time.hpp"

namespace weft {

/// Two that exchange long messages with each other alone copy or wait by turns. On one core they
/// take it from each other only, and each copies from its own cache. But they lose by it where a
/// core for each is free, which shows while they are apart, or where several pairs meet on one
/// core. So they try now and then what the other way gives, all processes of a machine at the same
/// time. One thread.
class Company {
 public:
  static constexpr Duration period = Duration::milliseconds(10);
  /// One of so many periods is for the other way.
  static constexpr std::int64_t periods_per_trial = 32;

  struct Exchange {
    std::uint32_t place = 0;  ///< the companion's
    std::uint64_t bytes = 0;  ///< since the last `look`; 0: unknown
  };

  /// `place`: the driver's own.
  explicit Company(std::uint32_t place) : place_(place) {}

  bool is_due(Instant now) const { return now - looked_at_ >= period; }
  /// Returns how many bytes a companion must have exchanged since the last `look`. Copies of these
  /// take a good part of the time: a switch for each short message would cost more than is won.
  std::uint64_t least_bytes(Instant now) const {
    return static_cast<std::uint64_t>((now - looked_at_).to_nanoseconds() * bytes_per_nanosecond);
  }
  /// `processor_time`: of this thread, since its begin. Returns the place to go to: the own one, or
  /// the lower one of both.
  std::uint32_t look(Instant now, Duration processor_time,
                     const std::optional<Exchange>& companion) {
    const Duration passed = now - std::exchange(looked_at_, now);
    const Duration used = processor_time - std::exchange(used_, processor_time);
    if (!is_together_) has_to_share_ = used < passed * 3 / 4;
    if (!companion) {
      is_together_ = false;
      return place_;
    }
    if (companion->place != companion_) rates_ = {};
    companion_ = companion->place;
    if (companion->bytes > 0 && passed < most_passed) {
      (is_together_ ? rates_.together : rates_.apart)
          .add(static_cast<double>(companion->bytes) / passed.to_seconds());
    }
    const bool is_trial = (now - Instant{}).ticks() / period.ticks() % periods_per_trial == 0;
    is_together_ = has_to_share_ && is_trial != goes_together();
    return is_together_ ? std::min(place_, companion->place) : place_;
  }

 private:
  static constexpr std::int64_t bytes_per_nanosecond = 3;
  /// A rate of a longer time says nothing of what one way gives: the program computed meanwhile.
  static constexpr Duration most_passed = period * 4;

  /// The first periods together say little: both have to move, and caches and ways of copying to
  /// follow.
  static constexpr int least_periods = 4;
  /// Others gain by a pair that takes turns: it stays together unless it loses more than noise.
  static constexpr double clearly_less = 0.85;

  /// Bytes per second, mostly of the last few periods.
  struct Rate {
    void add(double rate) {
      ++periods;
      value += (rate - value) / std::min(periods, least_periods);
    }
    double value = 0;
    int periods = 0;
  };
  struct Rates {
    Rate together, apart;
  };

  bool goes_together() const {
    return rates_.together.periods < least_periods ||
           rates_.together.value > rates_.apart.value * clearly_less;
  }

  std::uint32_t place_;
  Instant looked_at_{};
  Duration used_{};
  bool has_to_share_ = false;  // others had the core, or it slept, when it was last apart
  std::optional<std::uint32_t> companion_;
  Rates rates_;
  bool is_together_ = false;
};

}  // namespace weft
