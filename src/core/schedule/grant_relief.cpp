// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/grant_relief.hpp"

#include <algorithm>
#include <utility>

namespace weft::schedule {
namespace {

/// Share of the arrivals whose senders may have waited for a node without a processor.
constexpr double often_starved = 0.5;
/// Contributions that waited for the node's processor come all at once: the rate of one period
/// tells little.
constexpr std::uint32_t trial_length = 4;  // periods
constexpr Duration latest_relief = GrantRelief::several_turns * 16;

}  // namespace

void GrantRelief::restart() {
  trial_periods_ = 0;
  starving_for_ = {};
  sure_after_ = several_turns;
}

GrantRelief::Step GrantRelief::on_period(const Period& period) {
  const bool starves = period.starved > often_starved * period.arrivals;
  const bool was_starving = starving_for_ > sure_after_;
  starving_for_ = starves ? starving_for_ + period.length : Duration{};
  if (is_on_trial() && period.has_more) return judge(period);
  if (is_on_trial() && starves) return Step::none;  // until other nodes want more as well
  if (is_on_trial()) {
    trial_periods_ = 0;
    return Step::take_back;
  }
  if (!was_starving || !starves || !period.may_begin) return Step::none;
  trial_periods_ = trial_length;
  rate_before_ = period.usual_rate;
  arrivals_ = 0;
  time_ = {};
  return Step::add;
}

GrantRelief::Step GrantRelief::judge(const Period& period) {
  arrivals_ += period.arrivals;
  time_ += period.length;
  if (--trial_periods_ > 0) return Step::none;
  const double rate = static_cast<double>(arrivals_) / time_.to_seconds();
  if (rate >= rate_before_ * worth_it) {
    sure_after_ = several_turns;
    return Step::none;
  }
  sure_after_ = std::min(sure_after_ * 2, latest_relief);
  starving_for_ = {};
  return Step::take_back;
}

}  // namespace weft::schedule
