// SPDX-License-Identifier: Apache-2.0
// Lives of processes, which of them reach each other, and flights through the network.
// sim_hub_border.cpp has the words to other parts of a divided simulation.
#include "sim/fabric/sim_hub.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/rng.hpp"
#include "sim/fabric/sim_endpoint.hpp"

namespace weft::sim {
namespace {

constexpr std::int64_t steps_of_spread = 8;
/// From a process to those of its host: it copies through the host's memory.
constexpr net::LinkParameters memory_link{.rate = Bandwidth::bytes_per_second(10'000'000'000),
                                          .latency = PicoDuration::nanoseconds(500)};

}  // namespace

SimHub::SimHub(const SimFabricOptions& options, std::vector<std::uint32_t> hosts, Network& network,
               Agents& agents)
    : options_(options),
      hosts_(std::move(hosts)),
      levels_(static_cast<std::uint32_t>(hosts_.size()), network.options().levels.size()),
      network_(network),
      agents_(agents),
      agent_(agents.add(*this)),
      user_(network.add_user(*this)),
      lives_(hosts_.size()),
      memory_links_(hosts_.size(), net::LinkModel(memory_link)),
      unreachable_since_(hosts_.size(), PicoInstant::never()) {
  if (options.rc) rc_.emplace(*options.rc, static_cast<RcUser&>(*this), network, agents);
  for (const std::uint32_t host : hosts_) {
    here_.push_back(network.owns(network.topology().host(host)));
  }
}

SimHub::~SimHub() = default;

std::unique_ptr<Fabric> SimHub::open(NodeId self, Incarnation incarnation,
                                     std::function<void()> on_ready) {
  WEFT_CHECK(self.value() < hosts_.size() && is_here(self), "node {} of {}", self.value(),
             hosts_.size());
  memory_links_[self.value()] = net::LinkModel(memory_link);
  auto& lives = lives_[self.value()];
  const Process process{self, static_cast<std::uint32_t>(lives.size() + 1)};
  auto endpoint = std::make_unique<SimEndpoint>(*this, process, std::move(on_ready));
  lives.push_back({.incarnation = incarnation, .endpoint = endpoint.get()});
  return endpoint;
}

void SimHub::begin_elsewhere(NodeId node, Incarnation incarnation) {
  WEFT_CHECK(!is_here(node));
  lives_[node.value()].push_back({.incarnation = incarnation});
}

void SimHub::end_elsewhere(NodeId node) {
  WEFT_CHECK(!is_here(node));
  end_life({node, static_cast<std::uint32_t>(lives_[node.value()].size())});
}

Incarnation SimHub::incarnation_of(NodeId node) const {
  return lives_[node.value()].back().incarnation;
}

std::string SimHub::address_of(NodeId node) const {
  return SimEndpoint::address_of({node, static_cast<std::uint32_t>(lives_[node.value()].size())});
}

const SimHub::Life* SimHub::life_of(Process process) const {
  if (process.node.value() >= lives_.size()) return nullptr;
  const auto& lives = lives_[process.node.value()];
  // Zero is no life, and more than there are.
  return process.life - 1 < lives.size() ? &lives[process.life - 1] : nullptr;
}

SimEndpoint* SimHub::find(Process process) const {
  const Life* life = life_of(process);
  return life == nullptr ? nullptr : life->endpoint;
}

bool SimHub::runs(Process process) const {
  const Life* life = life_of(process);
  return life != nullptr && life->runs;
}

template <class F>
void SimHub::for_each_endpoint(F&& f) {
  for (const auto& lives : lives_) {
    for (const Life& life : lives) {
      if (life.endpoint != nullptr) f(*life.endpoint);
    }
  }
}

/// Peers find out later, each for itself.
void SimHub::end_life(Process process) {
  Life& life = lives_[process.node.value()][process.life - 1];
  life.runs = false;
  life.endpoint = nullptr;
  disconnect_all(process);
  for_each_endpoint([&](const SimEndpoint& peer) {
    if (!peer.is_connecting_to(process)) return;
    set_timer(peer.self(), now() + options_.death_notice + lateness(peer.self(), process.node),
              death, make_notice(peer.process(), process, 0));
  });
}

PicoInstant SimHub::blocked_since(NodeId a, NodeId b) const {
  PicoInstant since = std::min(unreachable_since_[a.value()], unreachable_since_[b.value()]);
  if (!group_.empty() && group_[a.value()] != group_[b.value()]) {
    since = std::min(since, partitioned_since_);
  }
  return since;
}

bool SimHub::given_up(NodeId a, NodeId b) const {
  const PicoInstant since = blocked_since(a, b);
  return since != PicoInstant::never() && now() - since >= options_.peer_timeout + lateness(a, b);
}

PicoDuration SimHub::lateness(NodeId a, NodeId b) const {
  if (options_.notice_spread == PicoDuration{}) return {};
  Rng rng(a.value() * hosts_.size() + b.value());
  const auto step = static_cast<std::int64_t>(rng.below(steps_of_spread + 1));
  return options_.notice_spread / steps_of_spread * step;
}

/// Somebody can no longer be reached: looks when each endpoint may have noticed.
void SimHub::expect_unreachable() {
  const bool at_once = options_.notice_spread == PicoDuration{};
  for (std::int64_t step = 0; step <= (at_once ? 0 : steps_of_spread); ++step) {
    agents_.set_shared_timer(
        agent_, now() + options_.peer_timeout + options_.notice_spread / steps_of_spread * step,
        unreachable);
  }
}

bool SimHub::launch(std::uint32_t f, std::uint8_t level) {
  const Flight& flight = flights_[f];
  const NodeId sender = flight.from.node, receiver = flight.to.node;
  if (blocked(sender, receiver)) {
    parked_.emplace_back(f, level);
    return false;
  }
  const std::uint32_t from = hosts_[sender.value()], to = hosts_[receiver.value()];
  const std::uint64_t bytes = std::max<std::uint64_t>(flight.bytes + options_.header_bytes, 1);
  if (from == to) {
    const auto transit = memory_links_[sender.value()].send(now(), ByteCount(bytes));
    set_timer(sender, transit.arrival, local_arrival, f);
    return false;
  }
  flights_[f].level = levels_.of(sender.value(), receiver.value(), level);
  if (rc_ && flight.kind != Flight::Kind::welcome) {
    launch_reliably(f);
    return true;
  }
  network_.send({.source = from,
                 .destination = to,
                 .bytes = bytes,
                 .level = flight.level,
                 .user = user_,
                 .flow = std::uint64_t{from} << 32 | to,
                 .tag = is_here(receiver) ? f : hand_over(f)});
  return true;
}

void SimHub::set_timer(NodeId node, PicoInstant at, Timer timer, std::uint64_t payload) {
  agents_.set_timer(agent_, hosts_[node.value()], at, timer, payload);
}

void SimHub::on_sent(const Message& message, PicoInstant) {
  const std::uint64_t tag = message.request.tag;
  Process from;
  if ((tag & foreign_tag) == 0) {
    const Flight& flight = flights_[static_cast<std::uint32_t>(tag)];
    if (!flight.leads_on) return;
    from = flight.from;
  } else {
    const auto greeting = leading_on_.extract(tag);
    if (greeting.empty()) return;
    from = greeting.mapped();
  }
  if (SimEndpoint* endpoint = find(from)) endpoint->greeting_left();
}

void SimHub::on_arrived(const Message& message) {
  const std::uint64_t tag = message.request.tag;
  const bool is_foreign = (tag & foreign_tag) != 0;
  arrive(is_foreign ? take_foreign(tag) : static_cast<std::uint32_t>(tag));
}

void SimHub::arrive(std::uint32_t f) {
  SimEndpoint* to = find(flights_[f].to);
  if (to == nullptr) {
    flights_.give_back(f);
    return;
  }
  to->take(f);
}

std::uint32_t SimHub::make_notice(Process to, Process about, std::uint32_t attempt) {
  const std::uint32_t n = notices_.take();
  notices_[n] = {.to = to, .about = about, .attempt = attempt};
  return n;
}

void SimHub::acknowledge(std::uint32_t f) {
  const Flight& flight = flights_[f];
  const Process from = flight.to, to = flight.from;
  const std::uint64_t link = std::uint64_t{flight.from_attempt} << 32 | flight.to_attempt;
  if (rc_ && hosts_[from.node.value()] != hosts_[to.node.value()]) {
    if (flight.kind == Flight::Kind::send) add_receive(flight);
    return;  // the adapters have acknowledged it
  }
  if (!runs(to)) return;
  const PicoInstant at = now() + options_.acknowledgement;
  if (SimEndpoint* endpoint = find(to)) {
    endpoint->acknowledged({at, from.node, link});
  } else {
    hand_over_acknowledgement(from, to, link, at);
  }
}

void SimHub::notify_quit(Process from, Process to, std::uint32_t attempt) {
  if (!runs(to)) return;
  const PicoInstant at = now() + options_.acknowledgement;
  if (is_here(to.node)) {
    set_timer(from.node, at, quit, make_notice(to, from, attempt));
  } else {
    hand_over_quit(from, to, attempt, at);
  }
}

void SimHub::on_timer(std::uint16_t detail, std::uint64_t payload) {
  if (detail == local_arrival) {
    arrive(static_cast<std::uint32_t>(payload));
    return;
  }
  if (detail == unreachable) {
    for_each_endpoint([](SimEndpoint& endpoint) { endpoint.drop_unreachable(); });
    return;
  }
  const auto n = static_cast<std::uint32_t>(payload);
  const Notice notice = notices_[n];
  notices_.give_back(n);
  SimEndpoint* told = find(notice.to);
  if (told == nullptr) return;
  if (detail == death) {
    told->peer_died(notice.about);
  } else {
    told->peer_quit(notice.about, notice.attempt);
  }
}

void SimHub::set_reachable(NodeId node, bool reachable) {
  PicoInstant& since = unreachable_since_[node.value()];
  if ((since == PicoInstant::never()) == reachable) return;
  since = reachable ? PicoInstant::never() : now();
  if (reachable) {
    relaunch_parked();
    return;
  }
  expect_unreachable();
}

void SimHub::set_partition(const std::vector<std::vector<std::uint32_t>>& groups) {
  group_.clear();
  if (!groups.empty()) {
    partitioned_since_ = now();
    group_.assign(hosts_.size(), 0);
    for (std::uint32_t g = 0; g < groups.size(); ++g) {
      for (const std::uint32_t node : groups[g]) group_[node] = g + 1;
    }
    expect_unreachable();
  }
  relaunch_parked();
}

void SimHub::relaunch_parked() {
  std::vector<std::pair<std::uint32_t, std::uint8_t>> waiting;
  waiting.swap(parked_);
  for (const auto& [f, level] : waiting) {
    // An ended connection, or a dead process, whose memory is gone, sends nothing.
    const SimEndpoint* from = find(flights_[f].from);
    if (from != nullptr && from->is_current(flights_[f])) {
      launch(f, level);
    } else {
      flights_.give_back(f);
    }
  }
  for_each_endpoint([](SimEndpoint& endpoint) { endpoint.connect_all(); });
}

}  // namespace weft::sim
