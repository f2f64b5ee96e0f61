// SPDX-License-Identifier: Apache-2.0
#include "net/rc/pages.hpp"

#include <algorithm>

namespace weft::net::rc {

Pages::Pages(const DeviceProfile& profile, bool paged, Rng rng)
    : profile_(profile), paged_(paged), rng_(rng) {}

void Pages::fault(Instant now, std::uint64_t page) {
  if (is_there(page)) return;
  if (!waiting_.try_emplace(page).second) return;
  asked_.push_back(page);
  ++faults_;
  if (asked_.size() > 1) return;
  const double rest = rng_.exponential(profile_.fault_mean_rest.to_seconds());
  page_at_ =
      now + std::min(profile_.fault_least + Duration::from_seconds(rest), profile_.fault_most);
}

void Pages::fault(Instant now, std::uint64_t page, Waiter waiter) {
  if (!is_there(page)) {
    fault(now, page);
    waiting_[page].push_back(waiter);
    return;
  }
  tell({waiter});
  begin_update(now);
}

void Pages::tell(std::vector<Waiter> waiters) {
  if (profile_.page_status_lags) {
    if (!waiters.empty()) to_tell_.push_back(std::move(waiters));
  } else {
    told_.insert(told_.end(), waiters.begin(), waiters.end());
  }
}

void Pages::page_came(Instant now) {
  const std::uint64_t page = asked_.front();
  asked_.pop_front();
  there_[page] = true;
  page_at_ = Instant::never();
  tell(std::move(waiting_.extract(page).mapped()));
  begin_update(now);
  if (asked_.empty()) return;
  const double rest = rng_.exponential(profile_.fault_mean_rest.to_seconds());
  page_at_ =
      now + std::min(profile_.fault_least + Duration::from_seconds(rest), profile_.fault_most);
}

void Pages::begin_update(Instant now) {
  if (is_telling_ || to_tell_.empty()) return;
  const std::uint64_t first = std::min<std::uint64_t>(discards_, profile_.discards_per_update);
  discards_ = 0;
  telling_ = to_tell_.front().back();
  to_tell_.front().pop_back();
  if (to_tell_.front().empty()) to_tell_.pop_front();
  is_telling_ = true;
  told_at_ =
      now + profile_.status_update + profile_.discard_cost * static_cast<std::int64_t>(first);
}

Instant Pages::next_deadline() const {
  return std::min(page_at_, told_at_);
}

void Pages::on_deadline(Instant now) {
  if (page_at_ <= now) page_came(now);
  if (told_at_ <= now) {
    told_.push_back(telling_);
    is_telling_ = false;
    told_at_ = Instant::never();
    begin_update(now);
  }
}

}  // namespace weft::net::rc
