// SPDX-License-Identifier: Apache-2.0
// Pages: the pages of a host's memory that its adapter can reach, and the way to get the others:
// the kernel, which resolves one page fault after the other, and the adapter's engine that tells
// requests that wait for a page when it has come.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "base/rng.hpp"
#include "net/rc/device_profile.hpp"
#include "weft/time.hpp"

namespace weft::net::rc {

/// A request that waits for a page: its queue pair and a number that only that wait has.
struct Waiter {
  std::uint32_t queue_pair = 0;
  std::uint64_t ticket = 0;
};

/// A machine: given the time, never asks for it. Without paging every page is there.
class Pages {
 public:
  Pages(const DeviceProfile& profile, bool paged, Rng rng);

  bool is_there(std::uint64_t page) const { return !paged_ || there_.count(page) != 0; }
  /// Asks for a page that is not there; asking again changes nothing.
  void fault(Instant now, std::uint64_t page);
  /// The same, for a request that has to be told; `told` yields it, at once when nothing lags.
  void fault(Instant now, std::uint64_t page, Waiter waiter);
  /// A response was thrown away, which the engine that tells requests hears of.
  void discarded() { ++discards_; }
  /// The page is there from now on, without a fault: ibv_advise_mr, or a first touch.
  void prefetch(std::uint64_t page) { there_[page] = true; }
  /// The kernel takes the page away.
  void invalidate(std::uint64_t page) { there_.erase(page); }

  Instant next_deadline() const;
  void on_deadline(Instant now);
  /// Requests that were told since the last call.
  std::vector<Waiter> take_told() { return std::move(told_); }

  std::uint64_t faults() const { return faults_; }

 private:
  void page_came(Instant now);
  void begin_update(Instant now);
  void tell(std::vector<Waiter> waiters);

  const DeviceProfile& profile_;
  bool paged_;
  Rng rng_;
  std::unordered_map<std::uint64_t, bool> there_;
  std::deque<std::uint64_t> asked_;  // the first one is being resolved
  std::unordered_map<std::uint64_t, std::vector<Waiter>> waiting_;  // per page that was asked for
  Instant page_at_ = Instant::never();
  // Those of the first page are told first, and of these the last one.
  std::deque<std::vector<Waiter>> to_tell_;
  Waiter telling_{};
  bool is_telling_ = false;
  Instant told_at_ = Instant::never();
  std::uint64_t discards_ = 0;  // since the last request was told
  std::vector<Waiter> told_;
  std::uint64_t faults_ = 0;
};

}  // namespace weft::net::rc
