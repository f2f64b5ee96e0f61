// SPDX-License-Identifier: Apache-2.0
// Client: posts operations on the client's adapter and sees to it, by the means of Avoidance, that
// none of them is stuck for long. It knows only as much as software above verbs: the operations
// that it posted, when it posted them, and their completions.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "rdma/avoidance.hpp"
#include "rdma/two_hosts.hpp"

namespace weft::rdma {

class Client {
 public:
  /// Takes `hosts.completed` over. Queue pair `spare` is for requests that are issued again.
  /// `is_paged`: the client's memory is registered for on-demand paging, and not pinned.
  Client(TwoHosts& hosts, const Avoidance& avoidance, bool is_paged, std::uint32_t queue_pairs,
         std::uint32_t spare);

  /// Posts, or keeps until the bound on queue pairs per page admits it. `request.id` is below 2^62.
  void post(std::uint32_t queue_pair, const net::rc::WorkRequest& request);
  /// Called once for each operation; the last argument is false when it exceeded its retries.
  std::function<void(Instant, std::uint64_t id, bool good)> completed;
  std::uint64_t dummies() const { return dummies_; }

 private:
  struct Operation {
    net::rc::WorkRequest request;
    std::uint32_t queue_pair = 0;
    std::uint64_t page = 0;
    bool again = false;  // was issued again
  };

  struct Watch {
    std::uint64_t outstanding = 0;  // dummies, too
    Instant progress{};             // the last completion, first post, or dummy
    Instant reissue{};              // the same, or the last time one was issued again
    std::uint32_t dummies = 0;      // since the last completion
    std::uint64_t look = 0;         // the number of the look that is planned for a dummy
    bool is_dummy_due = false;
    // An operation was posted behind another one. A lone operation was posted to a queue pair that
    // did not wait, and went out.
    bool may_be_lost = false;
    bool is_reissue_due = false;
    std::deque<std::uint64_t> ids;  // in order; some may be complete
    std::deque<Operation> kept;     // until the bound admits the first of them
  };

  bool admits(const Operation& operation) const;
  void start(const Operation& operation);
  void start_admitted(std::uint64_t page);
  void on_completion(Instant now, const net::rc::Completion& completion);
  void note_progress(Watch& watch);
  Duration patience(Duration least, const Watch& watch) const;
  void look_after_at(std::uint32_t queue_pair, Instant when);
  void look_after(std::uint32_t queue_pair);
  void look_at_oldest_at(std::uint32_t queue_pair, Instant when);
  void look_at_oldest(std::uint32_t queue_pair);
  void reissue_next();

  TwoHosts& hosts_;
  Avoidance avoidance_;
  std::uint32_t spare_;
  std::unordered_map<std::uint64_t, Operation> running_;
  // Per page: queue pairs whose first kept operation is to that page, in order.
  std::unordered_map<std::uint64_t, std::deque<std::uint32_t>> waiting_;
  // Per page: queue pairs that have requests to it, and how many.
  std::map<std::uint64_t, std::map<std::uint32_t, std::uint32_t>> users_;
  std::unordered_set<std::uint64_t> known_;  // pages that an operation has completed on
  std::vector<Watch> watches_;
  std::uint64_t bytes_ = 0;  // of all operations that run
  std::deque<std::uint64_t> to_reissue_;
  bool is_spare_busy_ = false;
  std::uint64_t dummies_ = 0;
};

}  // namespace weft::rdma
