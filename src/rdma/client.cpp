// SPDX-License-Identifier: Apache-2.0
#include "rdma/client.hpp"

#include <algorithm>

namespace weft::rdma {
namespace {

constexpr std::uint64_t again_bit = std::uint64_t{1} << 62;
constexpr std::uint64_t dummy_bit = std::uint64_t{1} << 63;
/// Dummies without progress come after four times the time of the one before, so often at most.
constexpr std::uint32_t most_quadruplings = 4;

}  // namespace

Client::Client(TwoHosts& hosts, const Avoidance& avoidance, bool is_paged,
               std::uint32_t queue_pairs, std::uint32_t spare)
    : hosts_(hosts), avoidance_(avoidance), spare_(spare), watches_(queue_pairs) {
  // Pages that are there need no bound: those of pinned memory, and those asked for in advance.
  if (!is_paged || avoidance.prefetch) avoidance_.queue_pairs_per_page = 0;
  hosts_.completed = [this](Instant now, int host, const net::rc::Completion& completion) {
    if (host == 0) on_completion(now, completion);
  };
}

bool Client::admits(const Operation& operation) const {
  if (avoidance_.queue_pairs_per_page == 0 || known_.count(operation.page) > 0) return true;
  const auto users = users_.find(operation.page);
  return users == users_.end() || users->second.count(operation.queue_pair) > 0 ||
         users->second.size() < avoidance_.queue_pairs_per_page;
}

void Client::post(std::uint32_t queue_pair, const net::rc::WorkRequest& request) {
  const Operation operation{request, queue_pair, request.local / net::rc::page_bytes};
  // Operations of a queue pair stay in order.
  auto& kept = watches_[queue_pair].kept;
  if (kept.empty() && admits(operation)) return start(operation);
  if (kept.empty()) waiting_[operation.page].push_back(queue_pair);
  kept.push_back(operation);
}

/// Starts operations that wait for a page, as far as that admits them, and those kept behind them.
void Client::start_admitted(std::uint64_t page) {
  const auto found = waiting_.find(page);
  if (found == waiting_.end()) return;
  auto& queue_pairs = found->second;
  while (!queue_pairs.empty() && admits(watches_[queue_pairs.front()].kept.front())) {
    auto& kept = watches_[queue_pairs.front()].kept;
    const std::uint32_t queue_pair = queue_pairs.front();
    queue_pairs.pop_front();
    while (!kept.empty() && admits(kept.front())) {
      const Operation operation = kept.front();
      kept.pop_front();
      start(operation);
    }
    if (!kept.empty()) waiting_[kept.front().page].push_back(queue_pair);
  }
  if (queue_pairs.empty()) waiting_.erase(page);
}

void Client::start(const Operation& operation) {
  const std::uint64_t id = operation.request.id;
  running_.emplace(id, operation);
  if (avoidance_.queue_pairs_per_page > 0) ++users_[operation.page][operation.queue_pair];
  Watch& watch = watches_[operation.queue_pair];
  if (watch.outstanding++ == 0) {
    note_progress(watch);
    watch.may_be_lost = false;
  } else {
    watch.may_be_lost = true;
  }
  watch.ids.push_back(id);
  bytes_ += operation.request.bytes;
  hosts_.post(0, operation.queue_pair, operation.request);
  if (avoidance_.dummy_after > Duration() && !watch.is_dummy_due) {
    watch.is_dummy_due = true;
    look_after_at(operation.queue_pair, hosts_.now() + avoidance_.dummy_after);
  }
  if (avoidance_.reissue_after > Duration() && !watch.is_reissue_due) {
    watch.is_reissue_due = true;
    look_at_oldest_at(operation.queue_pair, hosts_.now() + avoidance_.reissue_after);
  }
}

void Client::note_progress(Watch& watch) {
  watch.progress = watch.reissue = hosts_.now();
  // A look that was put off by dummies comes earlier now.
  if (watch.is_dummy_due && watch.dummies > 0) {
    look_after_at(static_cast<std::uint32_t>(&watch - watches_.data()),
                  hosts_.now() + avoidance_.dummy_after);
  }
  watch.dummies = 0;
}

/// The time that a healthy queue pair may take: the bytes of all outstanding operations may have to
/// pass first.
Duration Client::patience(Duration least, const Watch& watch) const {
  if (watch.ids.empty()) return least;
  const auto oldest = running_.find(watch.ids.front());
  const std::uint64_t pages =
      oldest == running_.end() ? 0 : oldest->second.request.bytes / net::rc::page_bytes;
  return least + slowest_page * static_cast<std::int64_t>(pages) +
         slowest_byte * static_cast<std::int64_t>(bytes_);
}

void Client::look_after_at(std::uint32_t queue_pair, Instant when) {
  const std::uint64_t look = ++watches_[queue_pair].look;
  hosts_.at(when, [this, queue_pair, look] {
    if (look == watches_[queue_pair].look) look_after(queue_pair);
  });
}

/// Whether a queue pair has made progress since; if not, it gets something to do that asks for
/// nothing new. A dummy that is lost in turn is outstanding as anything else, and draws another.
void Client::look_after(std::uint32_t queue_pair) {
  Watch& watch = watches_[queue_pair];
  watch.is_dummy_due = watch.outstanding > 0;
  if (!watch.is_dummy_due) return;
  const auto wait = [&] {
    return patience(avoidance_.dummy_after, watch) *
           (std::int64_t{1} << 2 * std::min(watch.dummies, most_quadruplings));
  };
  if (watch.progress + wait() <= hosts_.now() && !watch.may_be_lost) {
    watch.progress = hosts_.now();
  } else if (watch.progress + wait() <= hosts_.now()) {
    ++watch.dummies;
    ++watch.outstanding;
    watch.progress = hosts_.now();
    hosts_.post(0, queue_pair,
                {.id = dummy_bit | dummies_++, .verb = net::rc::Verb::write, .bytes = 0});
  }
  look_after_at(queue_pair, watch.progress + wait());
}

void Client::look_at_oldest_at(std::uint32_t queue_pair, Instant when) {
  hosts_.at(when, [this, queue_pair] { look_at_oldest(queue_pair); });
}

/// Issues the oldest operation of a queue pair again when that has made no progress: its page has
/// come, and only it was not told. The operations behind it may be good.
void Client::look_at_oldest(std::uint32_t queue_pair) {
  Watch& watch = watches_[queue_pair];
  const auto is_over = [&](std::uint64_t id) {
    const auto found = running_.find(id);
    return found == running_.end() || found->second.again;
  };
  while (!watch.ids.empty() && is_over(watch.ids.front())) watch.ids.pop_front();
  watch.is_reissue_due = !watch.ids.empty();
  if (!watch.is_reissue_due) return;
  if (watch.reissue + patience(avoidance_.reissue_after, watch) <= hosts_.now()) {
    watch.reissue = hosts_.now();
    Operation& oldest = running_.at(watch.ids.front());
    oldest.again = true;
    if (oldest.request.verb != net::rc::Verb::send) {  // that would be received twice
      to_reissue_.push_back(oldest.request.id);
      reissue_next();
    }
  }
  look_at_oldest_at(queue_pair, watch.reissue + patience(avoidance_.reissue_after, watch));
}

/// One at a time: nothing is behind it that could be lost while it waits.
void Client::reissue_next() {
  while (!is_spare_busy_ && !to_reissue_.empty()) {
    const auto found = running_.find(to_reissue_.front());
    to_reissue_.pop_front();
    if (found == running_.end()) continue;  // complete meanwhile
    net::rc::WorkRequest request = found->second.request;
    request.id |= again_bit;
    is_spare_busy_ = true;
    hosts_.post(0, spare_, request);
  }
}

void Client::on_completion(Instant now, const net::rc::Completion& completion) {
  if (completion.queue_pair < watches_.size()) {
    Watch& watch = watches_[completion.queue_pair];
    --watch.outstanding;
    note_progress(watch);
  } else {
    is_spare_busy_ = false;
    reissue_next();
  }
  if ((completion.id & dummy_bit) != 0) return;
  const std::uint64_t id = completion.id & ~again_bit;
  const auto found = running_.find(id);
  if (found == running_.end()) return;  // the other one of two was first
  const Operation& operation = found->second;
  bytes_ -= operation.request.bytes;
  if (avoidance_.queue_pairs_per_page > 0) {
    const auto users = users_.find(operation.page);
    const auto user = users->second.find(operation.queue_pair);
    if (--user->second == 0) users->second.erase(user);
    if (users->second.empty()) users_.erase(users);
    if (completion.good) known_.insert(operation.page);
  }
  const std::uint64_t page = operation.page;
  running_.erase(found);
  if (completed) completed(now, id, completion.good);
  start_admitted(page);
}

}  // namespace weft::rdma
