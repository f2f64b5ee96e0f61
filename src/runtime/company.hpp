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
/// take it from each other only, and each copies from its own cache. Where a core for each is free
/// they part, since one then hears of the other's copy without a switch: whether it is free shows
/// only while they are apart, so that they part now and then. All processes of a machine do so at
/// the same time. One thread.
class Company {
 public:
  static constexpr Duration period = Duration::milliseconds(10);

  /// `place`: the driver's own.
  explicit Company(std::uint32_t place) : place_(place) {}

  bool is_due(Instant now) const { return now - looked_at_ >= period; }
  /// Returns how many bytes a companion must have exchanged since the last `look`. Copies of these
  /// take a good part of the time: a switch for each short message would cost more than is won.
  std::uint64_t least_bytes(Instant now) const {
    return static_cast<std::uint64_t>((now - looked_at_).to_nanoseconds() * bytes_per_nanosecond);
  }
  /// `processor_time`: of this thread, since its begin. `companion`: its place. Returns the place
  /// to go to: the own one, or the lower one of both.
  std::uint32_t look(Instant now, Duration processor_time, std::optional<std::uint32_t> companion) {
    const Duration passed = now - std::exchange(looked_at_, now);
    const Duration used = processor_time - std::exchange(used_, processor_time);
    if (!is_together_) has_to_share_ = used < passed * 3 / 4;
    const bool is_trial = (now - Instant{}).ticks() / period.ticks() % periods_per_trial == 0;
    is_together_ = companion.has_value() && has_to_share_ && !is_trial;
    return is_together_ ? std::min(place_, *companion) : place_;
  }

 private:
  static constexpr std::int64_t bytes_per_nanosecond = 3;
  static constexpr std::int64_t periods_per_trial = 16;

  std::uint32_t place_;
  Instant looked_at_{};
  Duration used_{};
  bool is_together_ = false;
  bool has_to_share_ = false;  // others had the core, or it slept, while it was apart
};

}  // namespace weft
