// SPDX-License-Identifier: Apache-2.0
// Client: posts operations on the client's adapter and sees to it, by the means of Avoidance, that
// none of them is stuck for long. It knows only what software above verbs knows: what it posted
// when, and what has completed.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "rdma/avoidance.hpp"
#include "rdma/two_hosts.hpp"

namespace weft::rdma {

class Client {
 public:
  /// Takes `hosts.completed` over. Queue pair `spare` is for requests that are issued again.
  Client(TwoHosts& hosts, const Avoidance& avoidance, std::uint32_t queue_pairs,
         std::uint32_t spare);

  /// Posts, or keeps until the bound on queue pairs per page admits it. `request.id` is below 2^62.
  void post(std::uint32_t queue_pair, const net::rc::WorkRequest& request);
  /// Of each operation, once; the last argument is false when its retries were exceeded.
  std::function<void(Instant, std::uint64_t id, bool good)> completed;
  std::uint64_t dummies() const { return dummies_; }
  std::uint64_t reissued() const { return reissued_; }

 private:
  struct Operation {
    net::rc::WorkRequest request;
    std::uint32_t queue_pair = 0;
    std::uint64_t page = 0;
    bool again = false;  // was issued again
  };

  bool admits(const Operation& operation) const;
  void start(const Operation& operation);
  void start_admitted();
  void on_completion(Instant now, const net::rc::Completion& completion);
  void look_after(std::uint32_t queue_pair);
  void look_at(std::uint64_t id);

  TwoHosts& hosts_;
  Avoidance avoidance_;
  std::uint32_t spare_;
  std::unordered_map<std::uint64_t, Operation> running_;
  std::deque<Operation> kept_;
  std::map<std::uint64_t, std::multiset<std::uint32_t>> users_;  // queue pairs per page
  struct Watch {
    std::uint64_t outstanding = 0;
    Instant since{};  // of the last completion, or of the first post behind it
    bool runs = false;
  };
  std::vector<Watch> watches_;
  std::vector<net::rc::WorkRequest> latest_;  // per queue pair
  std::uint64_t dummies_ = 0;
  std::uint64_t reissued_ = 0;
};

}  // namespace weft::rdma
