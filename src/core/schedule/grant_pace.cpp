// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/grant_pace.hpp"

#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

namespace weft::schedule {
namespace {

/// In flight: so many times the path's capacity, and so many more.
constexpr double spare = 2.5;
constexpr double spare_places = 0.6;
constexpr std::uint32_t short_period = 8;  // contributions
/// Seconds. The least number in flight, which saves messages, is not larger than what comes in it.
constexpr double time_for_messages = 400e-6;
/// Shares of the arrivals that came when the node had nothing else on its way: above one it asks
/// for more, below the other it could do with less.
constexpr double often_dry = 0.1;
constexpr double hardly_dry = 0.02;
/// If more in flight does not make the node faster, links decide, and the node waits so many
/// periods before it tries again.
constexpr std::uint32_t least_pause = 8;
constexpr std::uint32_t most_pause = 256;
/// While it looks for the shortest time, the node has this share of the path's capacity out.
constexpr double probed = 0.75;
/// A probe that finds so small a share of the shortest time before is followed by another soon.
constexpr double much_shorter = 0.9;
/// Of probes that tell something only together with others, one of so many is made.
constexpr std::uint32_t seldom = 8;
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
/// Where nodes lack processors again and again, each try to do with less costs them: the calm that
/// is asked for grows up to this time. Periods of few microseconds would be too few to tell.
constexpr double longest_calm = 1;  // seconds
/// More in flight than this is never of use: it keeps the arithmetic in range.
constexpr double unthinkable = 1e6;

double share_of(Duration part, Duration whole) {
  return whole > Duration{} ? part.to_seconds() / whole.to_seconds() : 0;
}

}  // namespace

ReluctantNumber::ReluctantNumber(std::uint32_t least, std::uint32_t most)
    : least_(std::min(least, most)), most_(most), value_(least_) {}

void ReluctantNumber::grow(std::uint32_t to) {
  calm_ = 0;
  to = std::min(to, most_);
  if (to <= value_) return;
  value_ = to;
  // Several steps down may have been made before the one that was too many.
  if (std::exchange(shrunk_, 0) > 0) patience_ = std::min(asked_ * 2, most_patience_);
}

bool ReluctantNumber::calm() {
  if (value_ == least_ || ++calm_ < patience_) return false;
  calm_ = 0;
  value_ -= std::max(1u, std::min(value_ / 4, value_ - least_));
  if (shrunk_ == 0) asked_ = patience_;
  if (++shrunk_ > 1) patience_ = std::max(patience_ / 2, least_patience);
  return true;
}

GrantPace::GrantPace(const PaceOptions& options, std::size_t inputs)
    : options_(options),
      period_(std::max<std::uint32_t>(32, 4 * static_cast<std::uint32_t>(inputs))),
      ahead_(options.first_ahead, std::max(1u, options.max_ahead)),
      cover_(0, options.max_in_flight),
      suspects_(inputs) {
  options_.max_in_flight = std::max(options.min_in_flight, options.max_in_flight);
  behind_.reserve(inputs);
}

void GrantPace::restart(Instant now) {
  running_ = false;
  probing_ = false;
  held_up_ = false;
  begin_period(now);
}

void GrantPace::begin_view(Instant now) {
  if (std::exchange(trial_.runs, false)) cover_.take_back(trial_.cover);
  trial_.pays = false;
  relief_.restart();
  rates_seen_ = 0;
  forget_least();
  restart(now);
}

void GrantPace::begin_period(Instant now) {
  since_ = now;
  arrivals_ = dry_ = starved_ = 0;
  // Contributions come in batches: a period sees more than one of them. A probe outlasts the grants
  // that were out before it.
  if (probing_) {
    wanted_ = std::max(short_period, 2 * enough_);
  } else {
    wanted_ = std::max(periods_ < options_.short_periods ? short_period : period_, in_flight());
  }
  taken_ = absent_ = held_ = {};
  absences_ = 0;
  judged_ = false;
  for (Suspect& s : suspects_) s.held = {};
}

double GrantPace::best_rate() const {
  return *std::max_element(rates_.begin(), rates_.end());
}

void GrantPace::on_arrival(Instant now, Duration since_grant, bool is_small) {
  shortest_ = std::min(shortest_, since_grant);
  if (!is_small) least_since_grant_ = std::min(least_since_grant_, since_grant);
  if (!running_) {  // the time before the first one is not the path's pace
    restart(now);
    running_ = true;
    return;
  }
  // What came with the period's first one took none of the period's time.
  if (now == since_) return;
  // Contributions within less than the path's time may have been on their way together.
  if (++arrivals_ >= wanted_ && now > since_ && now - since_ >= least_length()) end_period(now);
}

/// A rate that a quarter of the latest periods had: others may have been disturbed.
double GrantPace::usual_rate() const {
  const std::size_t seen = std::min(rates_seen_, rates_kept);
  if (seen == 0) return 0;
  std::array<double, rates_kept> sorted = rates_;
  const std::span latest(sorted.data(), seen);
  std::ranges::sort(latest, std::ranges::greater());
  return latest[seen / 4];
}

Duration GrantPace::least_length() const {
  const bool has_time = !probing_ && periods_ >= options_.short_periods;
  return has_time && nodes_decide() ? std::max(shortest(), GrantRelief::several_turns) : shortest();
}

bool GrantPace::nodes_decide() const {
  if (rates_seen_ < rates_kept) return false;
  const double mean = std::accumulate(rates_.begin(), rates_.end(), 0.0) / rates_kept;
  return mean * least_since_grant_.to_seconds() < half_a_path;
}

/// Whether nodes decide, and a trial of all that the rings hold adds enough to show.
bool GrantPace::rings_hold_more() const {
  const std::uint64_t limit = std::min(most_, options_.max_in_flight);
  return nodes_decide() && cover_.value() + limit / 4 < limit;
}

void GrantPace::end_period(Instant now) {
  if (held_up_) add_held_up(now);
  if (!probing_) {
    const Duration length = now - since_;
    // At a slow input's rate the node's own path is idle half the time.
    if (!any_slow()) rates_[rates_seen_++ % rates_kept] = arrivals_ / length.to_seconds();
    places_taken_ += (share_of(taken_, length) - places_taken_) / 2;
    set_cover(length);
    if (!judged_) set_ahead(length);
  }
  begin_probe_if_due();
  set_in_flight();
  begin_period(now);
}

/// A probe's contributions have come by the end of the period after it. If the path has turned out
/// to be much shorter, the node's own queue hid it, and may hide some of it still.
void GrantPace::begin_probe_if_due() {
  ++periods_;
  probing_ = false;
  if (periods_ == next_probe_ + 2) {
    is_hidden_ = has_probed_ && shortest_ != Duration::max() &&
                 shortest_.to_seconds() < much_shorter * shortest_before_.to_seconds();
    next_probe_ = is_hidden_ ? periods_ + 1 : next_probe_ + probe_every;
  }
  if (periods_ != next_probe_) return;
  // A probe finds no path that holds less than the probe itself has in flight. Where credit would
  // decide even so, only several in a row can tell something: few are worth what they cost.
  const bool is_useful = spare * probed * path_ + cover_.value() < most_;
  has_probed_ = is_hidden_ || is_useful || ++skipped_ % seldom == 0;
  if (!has_probed_) return;
  probing_ = true;
  shortest_before_ = std::exchange(shortest_, Duration::max());
}

void GrantPace::set_cover(Duration length) {
  absent_share_ += (share_of(absent_, length) - absent_share_) / 4;
  if (absences_ > 0) {
    const double each = absent_.to_seconds() / absences_;
    absence_ += (each - absence_) / 4;
  }
  const double dry = static_cast<double>(dry_) / arrivals_;
  const double rate = arrivals_ / length.to_seconds();
  cover_.set_most_patience(
      static_cast<std::uint32_t>(std::min(longest_calm / length.to_seconds(), unthinkable)));
  const double starved = static_cast<double>(starved_) / arrivals_;
  const bool may_try = is_worth_trying_more(rate);
  const GrantRelief::Step relief =
      relief_.on_period({.length = length,
                         .arrivals = arrivals_,
                         .starved = starved_,
                         .usual_rate = usual_rate(),
                         .may_begin = periods_ >= options_.short_periods && rates_seen_ > 0 &&
                                      !trial_.runs && !any_slow(),
                         .has_more = in_flight() > before_relief_.in_flight});
  if (relief == GrantRelief::Step::take_back) {
    cover_.take_back(before_relief_.cover);
  } else if (relief == GrantRelief::Step::add) {
    before_relief_ = {.cover = cover_.value(), .in_flight = in_flight()};
    // Its own number: another node may be the one that has most in flight.
    const auto own = static_cast<std::uint32_t>(std::lround(wish_ / wish_unit));
    cover_.grow(std::min(cover_.value() + 3 * std::max(own, 1u), most_));
  } else if (relief_.is_on_trial()) {
    cover_.busy();
  } else if (may_try && (dry > often_dry || rings_hold_more())) {
    try_more(rate);
  } else if (absent_share_ > 2 * often) {
    const double places = std::min(absence_ * best_rate(), unthinkable);
    cover_.grow(std::max(cover_.value() + 1, static_cast<std::uint32_t>(places)));
  } else if (absent_share_ < often && std::max(dry, starved) < hardly_dry && !trial_.pays) {
    cover_.calm();
  } else {
    cover_.busy();
  }
}

/// Judges the value on trial, once it had a period to settle and one to show.
bool GrantPace::is_worth_trying_more(double rate) {
  if (trial_.pause > 0) --trial_.pause;
  trial_.pays = trial_.pays && nodes_decide() && ++trial_.paid < most_pause;
  // Short periods tell too little.
  if (!trial_.runs) return trial_.pause == 0 && periods_ >= options_.short_periods;
  if (++trial_.periods < 2) return false;
  trial_.runs = false;
  if (rate >= trial_.rate * GrantRelief::worth_it) {
    trial_.pays = nodes_decide();
    trial_.paid = 0;
    trial_.patience = least_pause;
    return true;
  }
  cover_.take_back(trial_.cover);
  trial_.pause = std::exchange(trial_.patience, std::min(trial_.patience * 2, most_pause));
  return false;
}

void GrantPace::try_more(double rate) {
  trial_.runs = true;
  trial_.periods = 0;
  trial_.rate = rate;
  trial_.cover = cover_.value();
  cover_.grow(nodes_decide() && most_ != unknown ? most_ : cover_.value() + in_flight());
}

void GrantPace::set_in_flight() {
  const double rate = best_rate();
  if (rate == 0 || shortest() == Duration::max()) return;
  path_ = std::min(rate * shortest().to_seconds(), unthinkable);
  enough_ = std::max(1u, static_cast<std::uint32_t>(std::ceil(path_)));
  least_at_rate_ = static_cast<std::uint32_t>(std::min(rate * time_for_messages, unthinkable));
  const double undisturbed = spare * path_ + spare_places;
  // Absences that are long enough to be known as such are few of many, where there are many.
  const bool is_noisy = absent_share_ > noisy;
  const double taken =
      is_noisy ? std::min(unseen * places_taken_, most_unseen * absent_share_ * undisturbed)
               : std::min(places_taken_, unthinkable);
  const double wanted = undisturbed + taken + cover_.value();
  wish_ =
      static_cast<Wish>(std::clamp(std::round(wanted * wish_unit), 1.0, unthinkable * wish_unit));
}

std::uint32_t GrantPace::in_flight() const {
  // An only input node meets nobody at the receiver: there is nothing to keep apart, so its credit
  // decides, and few messages grant much.
  if (suspects_.size() == 1) return options_.max_in_flight;
  if (probing_) {
    return std::min(most_,
                    std::max(options_.min_in_flight, static_cast<std::uint32_t>(probed * path_)));
  }
  std::uint32_t grants = agreed_;
  if (grants == 0) grants = static_cast<std::uint32_t>(std::lround(wish_ / wish_unit));
  if (grants == 0) grants = std::max({options_.first_in_flight, first_, cover_.value()});
  const std::uint32_t least = std::min(least_, least_at_rate_);
  grants = std::clamp(std::max(grants, least), options_.min_in_flight, options_.max_in_flight);
  return std::min(grants, most_);
}

void GrantPace::set_ahead(Duration length) {
  // When the others may be less far ahead, they wait once for an input that is behind: that says
  // nothing.
  if (std::exchange(settling_, false)) return;
  const double share = share_of(held_, length);
  const bool again = std::exchange(often_held_up_, share > often);
  if (share > often) {
    const bool by_the_same = blame(held_);
    const std::uint32_t value = ahead_.value();
    // One time is a pause: the paused node catches up sooner when the others do not run ahead.
    const bool remedy = again && !any_slow() && !by_the_same;
    if (remedy) ahead_.grow(value + std::max(1u, value / 2));
    ahead_.busy();
  } else if (share < hardly) {
    for (std::size_t i = 0; i < suspects_.size(); ++i) acquit(i);
    settling_ = ahead_.calm();
  } else {
    ahead_.busy();
  }
}

void GrantPace::forget(std::size_t input) {
  if (suspects_[input].slow) --slow_;
  suspects_[input] = {};
}

void GrantPace::acquit(std::size_t input) {
  Suspect& s = suspects_[input];
  if (!s.slow || ++s.doubts < convincing) return;
  s = {};
  --slow_;
}

/// Whether inputs that held the node up most of that time did so before, or may have. Earlier
/// periods count half as much.
bool GrantPace::blame(Duration held) {
  blamed_ = blamed_ / 2 + held;
  const double fair = 1.0 / static_cast<double>(suspects_.size());
  const double limit = fair + (1 - fair) * always_the_same;
  std::size_t standing_out = 0;
  bool before = false;
  for (Suspect& s : suspects_) {
    s.blamed = s.blamed / 2 + s.held;
    standing_out += share_of(s.blamed, blamed_) > limit ? 1 : 0;
    before = before || s.streak > 0;
  }
  // When most are, it is the network that is slow.
  const bool is_network = standing_out > suspects_.size() / 2;
  bool first = false, again = false;
  for (std::size_t i = 0; i < suspects_.size(); ++i) {
    Suspect& s = suspects_[i];
    if (is_network || share_of(s.blamed, blamed_) <= limit) {
      s.streak = 0;
      acquit(i);
      continue;
    }
    s.doubts = 0;
    (++s.streak > 1 ? again : first) = true;
    if (s.streak < convincing || s.slow) continue;
    s.slow = true;
    ++slow_;
  }
  return again || (first && !before);
}

void GrantPace::add_held_up(Instant now) {
  const Duration held = now - std::exchange(held_since_, now);
  held_ += held;
  for (const std::uint32_t i : behind_) suspects_[i].held += held;
}

void GrantPace::on_own_absence(Instant before, Instant now, std::size_t arrivals) {
  dry_ += static_cast<std::uint32_t>(arrivals);
  const double rate = best_rate();
  if (rate == 0) return;
  const double idle = (now - before).to_seconds() - static_cast<double>(arrivals) / rate;
  if (idle <= 0) return;
  absent_ += Duration(static_cast<std::int64_t>(idle * 1e9));
  ++absences_;
}

void GrantPace::on_held_up(Instant now, std::span<const std::uint32_t> behind) {
  if (held_up_) add_held_up(now);
  held_up_ = true;
  held_since_ = now;
  behind_.assign(behind.begin(), behind.end());
}

void GrantPace::on_free(Instant now) {
  if (!std::exchange(held_up_, false)) return;
  add_held_up(now);
  // Half a round lost is enough to see: the period may take very long like that.
  if (held_.to_seconds() * best_rate() * 2 < static_cast<double>(suspects_.size())) return;
  set_ahead(std::max(now - since_, held_));
  judged_ = true;
  held_ = {};
  for (Suspect& s : suspects_) s.held = {};
}

}  // namespace weft::schedule
