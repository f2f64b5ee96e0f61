// SPDX-License-Identifier: Apache-2.0
#include "net/rc/pages.hpp"

#include <algorithm>

namespace weft::net::rc {

Pages::Pages(const DeviceProfile& profile, bool paged, Rng rng)
    : profile_(profile), paged_(paged), rng_(rng) {}

Instant Pages::draw_fault_end(Instant now) {
  const double rest = rng_.exponential(profile_.fault_mean_rest.to_seconds());
  return now + std::min(profile_.fault_least + Duration::from_seconds(rest), profile_.fault_most);
}

void Pages::fault(Instant now, std::uint64_t page) {
  if (is_resident(page)) return;
  if (!waiting_.try_emplace(page).second) return;
  faulting_.push_back(page);
  ++faults_;
  if (faulting_.size() == 1) fault_ends_ = draw_fault_end(now);
}

void Pages::fault(Instant now, std::uint64_t page, Waiter waiter) {
  if (!is_resident(page)) {
    fault(now, page);
    waiting_[page].push_back(waiter);
    return;
  }
  notify({waiter});
  begin_update(now);
}

void Pages::notify(std::vector<Waiter> waiters) {
  if (profile_.page_status_lags) {
    if (!waiters.empty()) to_notify_.push_back(std::move(waiters));
  } else {
    notified_.insert(notified_.end(), waiters.begin(), waiters.end());
  }
}

void Pages::finish_fault(Instant now) {
  const std::uint64_t page = faulting_.front();
  faulting_.pop_front();
  resident_[page] = true;
  notify(std::move(waiting_.extract(page).mapped()));
  begin_update(now);
  fault_ends_ = faulting_.empty() ? Instant::never() : draw_fault_end(now);
}

void Pages::begin_update(Instant now) {
  if (is_updating_ || to_notify_.empty()) return;
  const std::uint64_t first = std::min<std::uint64_t>(discards_, profile_.discards_per_update);
  discards_ = 0;
  updating_ = to_notify_.front().back();
  to_notify_.front().pop_back();
  if (to_notify_.front().empty()) to_notify_.pop_front();
  is_updating_ = true;
  update_ends_ =
      now + profile_.status_update + profile_.discard_cost * static_cast<std::int64_t>(first);
}

Instant Pages::next_deadline() const {
  return std::min(fault_ends_, update_ends_);
}

void Pages::on_deadline(Instant now) {
  if (fault_ends_ <= now) finish_fault(now);
  if (update_ends_ <= now) {
    notified_.push_back(updating_);
    is_updating_ = false;
    update_ends_ = Instant::never();
    begin_update(now);
  }
}

}  // namespace weft::net::rc
