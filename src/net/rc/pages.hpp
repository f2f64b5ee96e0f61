// SPDX-License-Identifier: Apache-2.0
// Pages: the pages of a host's memory that its adapter can reach, and the on-demand paging that
// makes the others reachable (paper 2, III and VI). The kernel resolves one page fault after the
// other; the adapter then updates the page status of each waiting queue pair, one after the other.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "base/rng.hpp"
#include "net/rc/device_profile.hpp"
#include "weft/time.hpp"

namespace weft::net::rc {

/// A request that waits for a page: its queue pair and a ticket, unique to that wait.
struct Waiter {
  std::uint32_t queue_pair = 0;
  std::uint64_t ticket = 0;
};

/// A machine without I/O: the driver passes the time to every call. Without paging every page is
/// resident.
class Pages {
 public:
  Pages(const DeviceProfile& profile, bool paged, Rng rng);

  /// True when the adapter can reach the page.
  bool is_resident(std::uint64_t page) const { return !paged_ || resident_.count(page) != 0; }
  /// Raises a page fault unless the page is resident or its fault is pending.
  void fault(Instant now, std::uint64_t page);
  /// Does the same for a request that waits for the page. `take_notified` yields the request after
  /// its queue pair's page status was updated; at once when the profile's page status never lags.
  void fault(Instant now, std::uint64_t page, Waiter waiter);
  /// Counts a response that the adapter discarded; discards delay the next page-status update.
  void discarded() { ++discards_; }
  /// Makes the page resident without a fault: ibv_advise_mr, or a first touch.
  void prefetch(std::uint64_t page) { resident_[page] = true; }
  /// Makes the page non-resident, as the kernel does when it reclaims it.
  void invalidate(std::uint64_t page) { resident_.erase(page); }

  /// Returns when `on_deadline` has work; never when no fault and no update is pending.
  Instant next_deadline() const;
  /// Completes the page fault and the page-status update that are due by `now`.
  void on_deadline(Instant now);
  /// Returns the requests whose page status was updated since the last call.
  std::vector<Waiter> take_notified() { return std::move(notified_); }

  /// Returns the number of page faults since the start.
  std::uint64_t faults() const { return faults_; }

 private:
  Instant draw_fault_end(Instant now);
  void finish_fault(Instant now);
  void begin_update(Instant now);
  void notify(std::vector<Waiter> waiters);

  const DeviceProfile& profile_;
  bool paged_;
  Rng rng_;
  std::unordered_map<std::uint64_t, bool> resident_;
  std::deque<std::uint64_t> faulting_;  // the kernel resolves the front one
  std::unordered_map<std::uint64_t, std::vector<Waiter>> waiting_;  // by faulting page
  Instant fault_ends_ = Instant::never();
  // The adapter updates the waiters of the front page first, and of these the last one first.
  std::deque<std::vector<Waiter>> to_notify_;
  Waiter updating_{};
  bool is_updating_ = false;
  Instant update_ends_ = Instant::never();
  std::uint64_t discards_ = 0;  // since the last update began
  std::vector<Waiter> notified_;
  std::uint64_t faults_ = 0;
};

}  // namespace weft::net::rc
