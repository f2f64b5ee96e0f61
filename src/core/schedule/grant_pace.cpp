// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/grant_pace.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace weft::schedule {
namespace {

/// In flight: so many times what the path holds, and so many more.
constexpr double spare = 2.5;
constexpr double spare_places = 0.6;
/// Shares of the time that something was in the way: above one there must be a remedy, below the
/// other it needs none.
constexpr double often = 0.05;
constexpr double hardly = 0.01;
/// An input that accounts for so much more of it than its fair share is slow rather than unlucky.
constexpr double always_the_same = 0.4;
/// So many times in a row.
constexpr std::uint32_t convincing = 3;
/// A node that loses so much of its time by its own absences runs where all nodes are absent now
/// and then; grants to them take so many times the places that are seen to be taken.
constexpr double noisy = 0.002;
constexpr double unseen = 10;
/// But not more than that: of the grants that are out so large a share as the node itself is
/// absent, so many times. Contributions come late in a network that is full, too, and more in
/// flight would fill it more.
constexpr double most_unseen = 20;
/// More in flight than this is never of use: it keeps the arithmetic in range.
constexpr double unthinkable = 1e6;

double share_of(Duration part, Duration whole) {
  return whole > Duration{} ? part.to_seconds() / whole.to_seconds() : 0;
}

Duration sum(const std::vector<Duration>& durations) {
  return std::accumulate(durations.begin(), durations.end(), Duration{});
}

}  // namespace

ReluctantNumber::ReluctantNumber(std::uint32_t least, std::uint32_t most)
    : least_(std::min(least, most)), most_(most), value_(least_) {}

void ReluctantNumber::grow(std::uint32_t to) {
  calm_ = 0;
  to = std::min(to, most_);
  if (to <= value_) return;
  value_ = to;
  if (std::exchange(shrunk_, 0) > 0) patience_ = std::min(patience_ * 2, most_patience);
}

bool ReluctantNumber::calm() {
  if (value_ == least_ || ++calm_ < patience_) return false;
  calm_ = 0;
  value_ -= std::max(1u, std::min(value_ / 4, value_ - least_));
  if (++shrunk_ > 1) patience_ = std::max(patience_ / 2, least_patience);
  return true;
}

GrantPace::GrantPace(const PaceOptions& options, std::size_t inputs)
    : options_(options),
      period_(std::max<std::uint32_t>(32, 4 * static_cast<std::uint32_t>(inputs))),
      ahead_(options.first_ahead, std::max(1u, options.max_ahead)),
      cover_(0, static_cast<std::uint32_t>(inputs / 4)),
      held_by_(inputs),
      blamed_(inputs) {
  options_.max_in_flight = std::max(options.min_in_flight, options.max_in_flight);
}

void GrantPace::restart(Instant now) {
  running_ = false;
  probing_ = false;
  held_up_ = false;
  begin_period(now);
}

void GrantPace::begin_period(Instant now) {
  since_ = now;
  // A probe is short.
  arrivals_ = probing_ ? period_ - std::min(period_, 8u) : 0;
  taken_ = absent_ = {};
  absences_ = 0;
  judged_ = false;
  std::fill(held_by_.begin(), held_by_.end(), Duration{});
}

double GrantPace::best_rate() const {
  return *std::max_element(rates_.begin(), rates_.end());
}

void GrantPace::on_arrival(Instant now, Duration since_grant) {
  shortest_ = std::min(shortest_, since_grant);
  if (!running_) {  // what led up to the first one is not the path's pace
    restart(now);
    running_ = true;
    return;
  }
  if (++arrivals_ >= period_ && now > since_) end_period(now);
}

void GrantPace::end_period(Instant now) {
  if (held_up_) add_held_up(now);
  if (!probing_) {
    const Duration length = now - since_;
    // At a slow input's rate the node's own path is idle half the time.
    if (slow_ == nobody) rates_[rates_seen_++ % rates_kept] = arrivals_ / length.to_seconds();
    places_taken_ += (share_of(taken_, length) - places_taken_) / 2;
    set_cover(length);
    if (!judged_) set_ahead(length);
  }
  probing_ = ++periods_ % probe_every == 0;
  if (probing_) shortest_before_ = std::exchange(shortest_, Duration::max());
  set_in_flight();
  begin_period(now);
}

void GrantPace::set_cover(Duration length) {
  absent_share_ += (share_of(absent_, length) - absent_share_) / 4;
  if (absences_ > 0) {
    const double each = absent_.to_seconds() / absences_;
    absence_ += (each - absence_) / 4;
  }
  if (absent_share_ > 2 * often) {
    const double places = std::min(absence_ * best_rate(), unthinkable);
    cover_.grow(std::max(cover_.value() + 1, static_cast<std::uint32_t>(places)));
  } else if (absent_share_ < often) {
    cover_.calm();
  } else {
    cover_.busy();
  }
}

void GrantPace::set_in_flight() {
  const double rate = best_rate();
  const Duration shortest = std::min(shortest_, shortest_before_);
  if (rate == 0 || shortest == Duration::max()) return;
  const double path = std::min(rate * shortest.to_seconds(), unthinkable);
  enough_ = std::max(1u, static_cast<std::uint32_t>(std::ceil(path)));
  const double undisturbed = spare * path + spare_places;
  // Absences that are long enough to be known as such are few of many, where there are many.
  const bool is_noisy = absent_share_ > noisy;
  const double taken =
      is_noisy ? std::min(unseen * places_taken_, most_unseen * absent_share_ * undisturbed)
               : std::min(places_taken_, unthinkable);
  const double wanted = undisturbed + taken + cover_.value();
  const double most = std::numeric_limits<Wish>::max();
  wish_ = static_cast<Wish>(std::clamp(std::round(wanted * wish_unit), 1.0, most));
}

std::uint32_t GrantPace::in_flight() const {
  if (probing_) return options_.min_in_flight;
  std::uint32_t grants = agreed_;
  if (grants == 0) grants = static_cast<std::uint32_t>(std::lround(wish_ / wish_unit));
  if (grants == 0) grants = options_.first_in_flight;
  return std::clamp(grants, options_.min_in_flight, options_.max_in_flight);
}

void GrantPace::set_ahead(Duration length) {
  // When the others may be less far ahead, they wait once for who is behind: that says nothing.
  if (std::exchange(settling_, false)) return;
  const Duration held = sum(held_by_);
  const double share = share_of(held, length);
  const bool again = std::exchange(often_held_up_, share > often);
  if (share > often) {
    const bool by_the_same = blame();
    const std::uint32_t value = ahead_.value();
    // Once is a pause: who had it catches up the sooner the less the others go on.
    const bool remedy = again && slow_ == nobody && !by_the_same;
    if (remedy) ahead_.grow(value + std::max(1u, value / 2));
    ahead_.busy();
  } else if (share < hardly) {
    if (slow_ != nobody && ++doubts_ >= convincing) slow_ = nobody;
    settling_ = ahead_.calm();
  } else {
    ahead_.busy();
  }
}

/// Whether one input held the node up most of that time, and may have done so before. What was
/// before counts half as much.
bool GrantPace::blame() {
  for (std::size_t i = 0; i < blamed_.size(); ++i) blamed_[i] = blamed_[i] / 2 + held_by_[i];
  const auto most = std::max_element(blamed_.begin(), blamed_.end());
  const auto who = static_cast<std::size_t>(most - blamed_.begin());
  const double fair = 1.0 / static_cast<double>(blamed_.size());
  const double share = share_of(*most, sum(blamed_));
  const bool stands_out = share > fair + (1 - fair) * always_the_same;
  const bool again = stands_out && (suspect_ == nobody || who == suspect_);
  same_ = again ? same_ + 1 : 0;
  suspect_ = stands_out ? who : nobody;
  if (same_ >= convincing) slow_ = who;
  doubts_ = again ? 0 : doubts_ + 1;
  if (slow_ != nobody && doubts_ >= convincing) slow_ = nobody;
  return again;
}

void GrantPace::add_held_up(Instant now) {
  held_by_[behind_] += now - held_since_;
  held_since_ = now;
}

void GrantPace::on_own_absence(Instant before, Instant now, std::size_t arrivals) {
  const double rate = best_rate();
  if (rate == 0) return;
  const double idle = (now - before).to_seconds() - static_cast<double>(arrivals) / rate;
  if (idle <= 0) return;
  absent_ += Duration(static_cast<std::int64_t>(idle * 1e9));
  ++absences_;
}

void GrantPace::on_held_up(Instant now, std::size_t behind) {
  if (held_up_ && behind != behind_) on_free(now);
  if (held_up_) {
    add_held_up(now);
    return;
  }
  held_up_ = true;
  held_since_ = now;
  behind_ = behind;
}

void GrantPace::on_free(Instant now) {
  if (!std::exchange(held_up_, false)) return;
  add_held_up(now);
  // Half a round lost is enough to see: the period may take very long like that.
  const Duration held = sum(held_by_);
  if (held.to_seconds() * best_rate() * 2 < static_cast<double>(held_by_.size())) return;
  set_ahead(std::max(now - since_, held));
  judged_ = true;
  std::fill(held_by_.begin(), held_by_.end(), Duration{});
}

}  // namespace weft::schedule
