// SPDX-License-Identifier: Apache-2.0
#include "rdma/client.hpp"

#include <algorithm>

namespace weft::rdma {
namespace {

constexpr std::uint64_t again_bit = std::uint64_t{1} << 62;
constexpr std::uint64_t dummy_bit = std::uint64_t{1} << 63;

}  // namespace

Client::Client(TwoHosts& hosts, const Avoidance& avoidance, std::uint32_t queue_pairs,
               std::uint32_t spare)
    : hosts_(hosts),
      avoidance_(avoidance),
      spare_(spare),
      watches_(queue_pairs),
      latest_(queue_pairs) {
  hosts_.completed = [this](Instant now, int host, const net::rc::Completion& completion) {
    if (host == 0) on_completion(now, completion);
  };
}

bool Client::admits(const Operation& operation) const {
  if (avoidance_.queue_pairs_per_page == 0) return true;
  const auto users = users_.find(operation.page);
  if (users == users_.end() || users->second.count(operation.queue_pair) > 0) return true;
  std::uint32_t different = 0;
  for (auto it = users->second.begin(); it != users->second.end();
       it = users->second.upper_bound(*it)) {
    ++different;
  }
  return different < avoidance_.queue_pairs_per_page;
}

void Client::post(std::uint32_t queue_pair, const net::rc::WorkRequest& request) {
  const Operation operation{request, queue_pair, request.local / net::rc::page_bytes};
  // Operations of a queue pair stay in order.
  if (!kept_.empty() || !admits(operation)) return kept_.push_back(operation);
  start(operation);
}

void Client::start(const Operation& operation) {
  const std::uint64_t id = operation.request.id;
  running_.emplace(id, operation);
  if (avoidance_.queue_pairs_per_page > 0) users_[operation.page].insert(operation.queue_pair);
  Watch& watch = watches_[operation.queue_pair];
  if (watch.outstanding++ == 0) watch.since = hosts_.now();
  latest_[operation.queue_pair] = operation.request;
  hosts_.post(0, operation.queue_pair, operation.request);
  if (avoidance_.dummy_after > Duration() && !watch.runs) {
    watch.runs = true;
    hosts_.at(hosts_.now() + avoidance_.dummy_after,
              [this, qp = operation.queue_pair] { look_after(qp); });
  }
  if (avoidance_.reissue_after > Duration()) {
    hosts_.at(hosts_.now() + avoidance_.reissue_after, [this, id] { look_at(id); });
  }
}

void Client::start_admitted() {
  while (!kept_.empty() && admits(kept_.front())) {
    const Operation operation = kept_.front();
    kept_.pop_front();
    start(operation);
  }
}

/// Whether a queue pair has made progress since; if not, it gets something to do that asks for
/// nothing new.
void Client::look_after(std::uint32_t queue_pair) {
  Watch& watch = watches_[queue_pair];
  if (watch.outstanding == 0) {
    watch.runs = false;
    return;
  }
  const Instant due = watch.since + avoidance_.dummy_after;
  if (due <= hosts_.now()) {
    net::rc::WorkRequest dummy = latest_[queue_pair];
    dummy.id = dummy_bit | dummies_++;
    dummy.verb = net::rc::Verb::read;
    dummy.bytes = 1;
    watch.since = hosts_.now();
    hosts_.post(0, queue_pair, dummy);
  }
  hosts_.at(std::max(due, watch.since + avoidance_.dummy_after),
            [this, queue_pair] { look_after(queue_pair); });
}

/// Issues an operation again that is not done yet: its page has come, and only it was not told.
void Client::look_at(std::uint64_t id) {
  const auto found = running_.find(id);
  if (found == running_.end() || found->second.again) return;
  if (found->second.request.verb == net::rc::Verb::send) return;  // would be received twice
  found->second.again = true;
  ++reissued_;
  net::rc::WorkRequest request = found->second.request;
  request.id |= again_bit;
  hosts_.post(0, spare_, request);
}

void Client::on_completion(Instant now, const net::rc::Completion& completion) {
  if ((completion.id & dummy_bit) != 0) return;
  const std::uint64_t id = completion.id & ~again_bit;
  if (completion.queue_pair < watches_.size()) {
    Watch& watch = watches_[completion.queue_pair];
    --watch.outstanding;
    watch.since = now;
  }
  const auto found = running_.find(id);
  if (found == running_.end()) return;  // the other one of two was first
  if (avoidance_.queue_pairs_per_page > 0) {
    auto& users = users_[found->second.page];
    users.erase(users.find(found->second.queue_pair));
    if (users.empty()) users_.erase(found->second.page);
  }
  running_.erase(found);
  if (completed) completed(now, id, completion.good);
  start_admitted();
}

}  // namespace weft::rdma
