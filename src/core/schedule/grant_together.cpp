// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/grant_together.hpp"

#include <algorithm>

namespace weft::schedule {
namespace {

/// Rounds that it looks ahead.
constexpr std::uint64_t furthest = 64;

Duration smoothed(Duration before, Duration now) {
  return before == Duration{} ? now : before + (now - before) / 4;
}

}  // namespace

/// Contributions that were given up, or passed over, never arrive: the time since the last one was
/// that of all rounds in between.
void GrantTogether::on_slow_arrival(Instant now, std::uint64_t round) {
  if (slow_round_ != none) {
    const auto rounds = static_cast<std::int64_t>(round - slow_round_);
    interval_ = smoothed(interval_, (now - arrived_) / rounds);
  }
  slow_round_ = round;
  arrived_ = now;
}

void GrantTogether::on_grant(Instant now, std::uint64_t round) {
  if (round_ != none && round <= round_) return;
  if (collected_ > Duration{}) collecting_ = smoothed(collecting_, collected_);
  round_ = round;
  opened_ = now;
  collected_ = {};
}

void GrantTogether::on_arrival(Instant now, std::uint64_t round) {
  if (round == round_) collected_ = now - opened_;
}

Instant GrantTogether::opens(std::uint64_t round) const {
  if (round_ != none && round <= round_) return Instant{};
  if (interval_ == Duration{} || collecting_ == Duration{} || round <= slow_round_)
    return Instant{};
  const auto until = static_cast<std::int64_t>(std::min(round - slow_round_, furthest));
  // A quarter to spare: being late costs time, being early only spread.
  return arrived_ + (interval_ * until - collecting_ * 5 / 4);
}

}  // namespace weft::schedule
