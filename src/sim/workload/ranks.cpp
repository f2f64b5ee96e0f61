// SPDX-License-Identifier: Apache-2.0
#include "sim/workload/ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace weft::sim {
namespace {

constexpr std::uint64_t match_mask = (std::uint64_t{1} << 62) - 1;
/// A program that acts for so long without taking any time never will.
constexpr std::uint32_t most_actions_at_once = 1'000'000;

template <class Open>
std::optional<Open> take(std::vector<Open>& list, std::uint32_t peer, std::uint64_t match) {
  for (auto it = list.begin(); it != list.end(); ++it) {
    if (it->peer != peer || it->match != match) continue;
    const Open found = *it;
    list.erase(it);
    return found;
  }
  return std::nullopt;
}

}  // namespace

Ranks::Ranks(const Program& program, const RankOptions& options, std::vector<std::uint32_t> hosts,
             Network& network, Agents& agents)
    : Ranks(&program, nullptr, program.ranks(), options, std::move(hosts), network, agents) {}

Ranks::Ranks(Feed& feed, const RankOptions& options, std::vector<std::uint32_t> hosts,
             Network& network, Agents& agents)
    : Ranks(nullptr, &feed, feed.ranks(), options, std::move(hosts), network, agents) {}

Ranks::Ranks(const Program* program, Feed* feed, std::uint32_t ranks, const RankOptions& options,
             std::vector<std::uint32_t> hosts, Network& network, Agents& agents)
    : program_(program),
      feed_(feed),
      options_(options),
      hosts_(std::move(hosts)),
      rank_at_(network.topology().hosts(), no_rank),
      levels_(static_cast<std::uint32_t>(hosts_.size()), network.options().levels.size()),
      network_(network),
      agents_(agents),
      agent_(agents.add(*this)),
      user_(network.add_user(*this)) {
  WEFT_CHECK(ranks == hosts_.size(), "{} ranks on {} hosts", ranks, hosts_.size());
  start();
}

void Ranks::start() {
  levels_.set_job(options_.level);
  const Rng noise(options_.seed);
  for (std::uint32_t r = 0; r < hosts_.size(); ++r) {
    WEFT_CHECK(rank_at_[hosts_[r]] == no_rank, "two ranks on host {}", hosts_[r]);
    rank_at_[hosts_[r]] = r;
    ranks_.push_back({.cursor = {.iteration = options_.first_iteration}, .noise = noise.split(r)});
    const PicoInstant at = std::max(options_.start, agents_.engine().now());
    go_on_at(r, at);
  }
}

PicoDuration Ranks::waited(std::uint32_t r) const {
  const Rank& rank = ranks_[r];
  if (!rank.waiting) return rank.waited;
  return rank.waited + std::max(agents_.engine().now() - rank.idle_from, PicoDuration{});
}

double Ranks::progress(std::uint32_t r) const {
  const Rank& rank = ranks_[r];
  const double done = (rank.marked - options_.start).to_seconds();
  if (done <= 0) return static_cast<double>(rank.iterations);
  const double now = (agents_.engine().now() - options_.start).to_seconds();
  const auto whole = static_cast<double>(rank.iterations);
  return std::min(whole * now / done, whole + 1);
}

bool Ranks::stuck() const {
  if (!is_running() || ended()) return false;
  if (pending_ == 0 || feed_ == nullptr) return pending_ == 0;
  // Each of these has a timer: there is nothing else if they are as many.
  std::uint64_t passing = 0;
  for (std::uint32_t r = 0; r < size(); ++r) {
    if (!ranks_[r].ended && feed_->waits_for_others(r)) ++passing;
  }
  return pending_ == passing;
}

void Ranks::on_timer(std::uint16_t detail, std::uint64_t rank) {
  --pending_;
  if (!is_running()) return;
  const auto r = static_cast<std::uint32_t>(rank);
  if (detail == goes_on) {
    run(r);
  } else {
    on_content_left(r);
  }
}

void Ranks::run(std::uint32_t r) {
  for (std::uint32_t i = 0; is_running(); ++i) {
    WEFT_CHECK(i < most_actions_at_once, "rank {} neither computes nor communicates", r);
    const auto put_off = std::exchange(ranks_[r].put_off, std::nullopt);
    const Action action = put_off            ? *put_off
                          : feed_ != nullptr ? feed_->next(r)
                                             : program_->next(r, ranks_[r].cursor);
    const bool is_send_paid_for = put_off && action.kind == Action::Kind::send;
    if (!is_send_paid_for && spend_overhead_before(r, action)) return;
    if (!act(r, action)) return;
  }
}

/// True: the processor is busy with overhead, and the rank takes the action after that.
bool Ranks::spend_overhead_before(std::uint32_t r, const Action& action) {
  Rank& rank = ranks_[r];
  PicoDuration busy{};
  switch (action.kind) {
    case Action::Kind::send:
      busy = network_.options().host_overhead;
      break;
    case Action::Kind::mark_progress:
    case Action::Kind::end:
      break;
    default:
      return false;  // computations and waits spend it themselves
  }
  busy += std::exchange(rank.overhead, PicoDuration{});
  if (busy == PicoDuration{}) return false;
  rank.put_off = action;
  go_on_at(r, agents_.engine().now() + busy);
  return true;
}

void Ranks::set_timer(std::uint32_t r, PicoInstant at, Timer timer) {
  ++pending_;
  agents_.set_timer(agent_, hosts_[r], at, timer, r);
}

/// False: the rank goes on later.
bool Ranks::act(std::uint32_t r, const Action& action) {
  switch (action.kind) {
    case Action::Kind::compute:
      return compute(r, action.time);
    case Action::Kind::send:
      send(r, action);
      return true;
    case Action::Kind::receive:
      receive(r, action);
      return true;
    case Action::Kind::wait_all:
    case Action::Kind::wait_for:
    case Action::Kind::wait_any:
      return wait(r, action);
    case Action::Kind::mark_progress:
      ++ranks_[r].iterations;
      ranks_[r].marked = agents_.engine().now();
      return true;
    case Action::Kind::end:
      ++ended_;
      ranks_[r].ended = true;
      last_end_ = agents_.engine().now();
      return false;
  }
  return false;
}

bool Ranks::compute(std::uint32_t r, PicoDuration time) {
  Rank& rank = ranks_[r];
  if (options_.compute_noise > 0) {
    const double factor = 1 + options_.compute_noise * (2 * rank.noise.uniform() - 1);
    time = PicoDuration(static_cast<std::int64_t>(static_cast<double>(time.ticks()) * factor));
  }
  time += std::exchange(rank.overhead, PicoDuration{});
  if (time == PicoDuration{}) return true;
  go_on_at(r, agents_.engine().now() + time);
  return false;
}

void Ranks::send(std::uint32_t r, const Action& action) {
  Rank& rank = ranks_[r];
  WEFT_CHECK(action.peer < ranks_.size() && action.peer != r, "rank {} sends to {}", r,
             action.peer);
  rank.bytes_sent += action.bytes;
  ++messages_sent_;
  if (action.bytes <= options_.eager_bytes) {
    put(Kind::eager, r, action.peer, action.match, carried(action.bytes));
    if (feed_ != nullptr) feed_->on_completed(r, action.request);
    return;
  }
  ++rank.open;
  rank.sends.push_back({.peer = action.peer,
                        .match = action.match,
                        .bytes = action.bytes,
                        .request = action.request});
  put(Kind::announce, r, action.peer, action.match, 0);
}

void Ranks::receive(std::uint32_t r, const Action& action) {
  Rank& rank = ranks_[r];
  WEFT_CHECK(action.peer < ranks_.size() && action.peer != r, "rank {} receives from {}", r,
             action.peer);
  const std::uint64_t bytes = carried(action.bytes);
  const auto early = take(rank.unexpected, action.peer, action.match);
  if (early && early->bytes != bytes && bytes != any_bytes) {
    fail(r, action.peer, bytes, early->bytes);
    return;
  }
  if (early && !early->announced) {
    rank.overhead += network_.options().host_overhead;
    if (feed_ != nullptr) feed_->on_completed(r, action.request);
    return;
  }
  ++rank.open;
  rank.receives.push_back(
      {.peer = action.peer, .match = action.match, .bytes = bytes, .request = action.request});
  if (early) put(Kind::ask, r, action.peer, action.match, 0);
}

bool Ranks::is_satisfied(const Rank& rank, const Action& wait) const {
  if (wait.kind == Action::Kind::wait_for) {
    const auto is_it = [&](const Open& open) { return open.request == wait.request; };
    return std::none_of(rank.receives.begin(), rank.receives.end(), is_it) &&
           std::none_of(rank.sends.begin(), rank.sends.end(), is_it);
  }
  return rank.open == 0;
}

bool Ranks::wait(std::uint32_t r, const Action& action) {
  Rank& rank = ranks_[r];
  if (is_satisfied(rank, action)) return compute(r, PicoDuration{});
  rank.waiting = true;
  rank.waits_for = action.kind;
  rank.request = action.request;
  rank.idle_from = agents_.engine().now() + std::exchange(rank.overhead, PicoDuration{});
  return false;
}

/// One of the rank's operations has completed, at the cost of that overhead; the rank may wait for
/// it.
void Ranks::complete(std::uint32_t r, std::uint32_t request, PicoDuration overhead) {
  if (feed_ != nullptr) feed_->on_completed(r, request);
  Rank& rank = ranks_[r];
  --rank.open;
  if (!rank.waiting) {
    rank.overhead += overhead;
    return;
  }
  const PicoInstant now = agents_.engine().now();
  rank.waited += std::max(now - rank.idle_from, PicoDuration{});
  rank.idle_from = std::max(rank.idle_from, now) + overhead;
  if (rank.waits_for == Action::Kind::wait_all && rank.open > 0) return;
  if (rank.waits_for == Action::Kind::wait_for && request != rank.request) return;
  rank.waiting = false;
  if (rank.idle_from > now) {
    go_on_at(r, rank.idle_from);
  } else {
    run(r);
  }
}

void Ranks::put(Kind kind, std::uint32_t from, std::uint32_t to, std::uint64_t match,
                std::uint64_t bytes) {
  ++pending_;
  network_.send({.source = hosts_[from],
                 .destination = hosts_[to],
                 .bytes = std::max<std::uint64_t>(bytes + options_.header_bytes, 1),
                 .level = levels_.of(from, to),
                 .user = user_,
                 .queue = is_control(kind) ? 1U : 0U,
                 .flow = std::uint64_t{from} << 32 | to,
                 .tag = static_cast<std::uint64_t>(kind) << kind_shift | match});
}

/// The last packet has begun to leave. A host has one link: what began to leave before has left by
/// this departure, also if a link that has become faster told a later one.
void Ranks::on_sent(const Message& message, PicoInstant departure) {
  const auto kind = static_cast<Kind>(message.request.tag >> kind_shift);
  if (kind != Kind::content || !error_.empty()) return;
  const std::uint32_t from = rank_at_[message.request.source];
  const std::uint32_t to = rank_at_[message.request.destination];
  auto& sends = ranks_[from].sends;
  auto sent = take(sends, to, message.request.tag & match_mask);
  WEFT_CHECK(sent.has_value());
  for (Open& before : sends) {
    if (before.departure != PicoInstant::never()) {
      before.departure = std::min(before.departure, departure);
    }
  }
  sent->departure = departure;
  sends.push_back(*sent);
  set_timer(from, departure, content_left);
}

/// Completes all sends that have left by now: none if they did by an earlier timer.
void Ranks::on_content_left(std::uint32_t r) {
  const PicoInstant now = agents_.engine().now();
  const auto has_left = [now](const Open& open) { return open.departure <= now; };
  auto& sends = ranks_[r].sends;
  // From the beginning again each time: the rank may go on and send more.
  while (is_running()) {
    const auto sent = std::find_if(sends.begin(), sends.end(), has_left);
    if (sent == sends.end()) return;
    const std::uint32_t request = sent->request;
    sends.erase(sent);
    complete(r, request, {});
  }
}

void Ranks::on_arrived(const Message& message) {
  --pending_;
  if (!is_running()) return;
  const MessageRequest& request = message.request;
  const std::uint32_t from = rank_at_[request.source];
  const std::uint32_t to = rank_at_[request.destination];
  const std::uint64_t match = request.tag & match_mask;
  switch (static_cast<Kind>(request.tag >> kind_shift)) {
    case Kind::eager:
      on_offer(to, from, match, request.bytes - options_.header_bytes, false);
      break;
    case Kind::announce: {
      const auto& sends = ranks_[from].sends;
      const auto sent = std::find_if(sends.begin(), sends.end(), [&](const Open& o) {
        return o.peer == to && o.match == match;
      });
      on_offer(to, from, match, sent->bytes, true);
      break;
    }
    case Kind::ask:
      on_asked(to, from, match);
      break;
    case Kind::content:
      complete(to, take(ranks_[to].receives, from, match)->request,
               network_.options().host_overhead);
      break;
  }
}

/// A message has come, or its announcement.
void Ranks::on_offer(std::uint32_t r, std::uint32_t from, std::uint64_t match, std::uint64_t bytes,
                     bool announced) {
  Rank& rank = ranks_[r];
  const auto posted = take(rank.receives, from, match);
  if (!posted) {
    rank.unexpected.push_back(
        {.peer = from, .match = match, .bytes = bytes, .announced = announced});
    return;
  }
  if (posted->bytes != bytes && posted->bytes != any_bytes) {
    fail(r, from, posted->bytes, bytes);
    return;
  }
  if (!announced) {
    complete(r, posted->request, network_.options().host_overhead);
    return;
  }
  rank.receives.push_back(*posted);
  put(Kind::ask, r, from, match, 0);
}

void Ranks::on_asked(std::uint32_t r, std::uint32_t from, std::uint64_t match) {
  const auto& sends = ranks_[r].sends;
  const auto sent = std::find_if(sends.begin(), sends.end(),
                                 [&](const Open& o) { return o.peer == from && o.match == match; });
  WEFT_CHECK(sent != sends.end());
  put(Kind::content, r, from, match, sent->bytes);
}

void Ranks::fail(std::uint32_t r, std::uint32_t from, std::uint64_t expected, std::uint64_t bytes) {
  error_ =
      fmt::format("rank {} sends {} bytes to rank {}, which receives {}", from, bytes, r, expected);
}

}  // namespace weft::sim
