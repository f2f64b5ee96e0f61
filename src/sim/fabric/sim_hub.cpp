// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/sim_hub.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "sim/fabric/sim_endpoint.hpp"

namespace weft::sim {
namespace {

/// Between two nodes of one host: through its memory.
constexpr PicoDuration local_latency = PicoDuration::nanoseconds(500);
constexpr std::int64_t local_ps_per_byte = 100;

}  // namespace

SimHub::SimHub(const SimFabricOptions& options, std::vector<std::uint32_t> hosts, Network& network,
               Agents& agents)
    : options_(options),
      hosts_(std::move(hosts)),
      network_(network),
      agents_(agents),
      agent_(agents.add(*this)),
      user_(network.add_user(*this)),
      unreachable_since_(hosts_.size(), PicoInstant::never()) {}

SimHub::~SimHub() = default;

std::unique_ptr<Fabric> SimHub::open(NodeId self, Incarnation incarnation,
                                     std::function<void()> on_ready) {
  WEFT_CHECK(self.value() < hosts_.size(), "node {} of {}", self.value(), hosts_.size());
  auto endpoint = std::make_unique<SimEndpoint>(*this, endpoints_.size() + 1, self, incarnation,
                                                std::move(on_ready));
  endpoints_.push_back(endpoint.get());
  return endpoint;
}

SimEndpoint* SimHub::find(std::uint64_t serial) const {
  return serial == 0 || serial > endpoints_.size() ? nullptr : endpoints_[serial - 1];
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
  return since != PicoInstant::never() && now() - since >= options_.peer_timeout;
}

bool SimHub::launch(std::uint32_t f, std::uint8_t level) {
  const Flight& flight = flights_[f];
  if (blocked(flight.from, flight.to)) {
    parked_.emplace_back(f, level);
    return false;
  }
  const std::uint32_t from = hosts_[flight.from.value()], to = hosts_[flight.to.value()];
  const std::uint64_t bytes = std::max<std::uint64_t>(flight.bytes() + options_.header_bytes, 1);
  if (from == to) {
    const PicoDuration takes =
        local_latency + PicoDuration(static_cast<std::int64_t>(bytes) * local_ps_per_byte);
    set_timer(flight.from, now() + takes, local_arrival, f);
    return false;
  }
  const auto levels = static_cast<std::uint8_t>(network_.options().levels.size());
  network_.send({.source = from,
                 .destination = to,
                 .bytes = bytes,
                 .level = std::min<std::uint8_t>(level, levels - 1),
                 .user = user_,
                 .flow = std::uint64_t{from} << 32 | to,
                 .tag = f});
  return true;
}

void SimHub::set_timer(NodeId node, PicoInstant at, Timer timer, std::uint64_t payload) {
  agents_.set_timer(agent_, hosts_[node.value()], at, timer, payload);
}

void SimHub::on_sent(const Message& message, PicoInstant) {
  const Flight& flight = flights_[static_cast<std::uint32_t>(message.request.tag)];
  if (!flight.leads_on) return;
  if (SimEndpoint* from = find(flight.sequence)) from->greeting_left();
}

void SimHub::on_arrived(const Message& message) {
  arrive(static_cast<std::uint32_t>(message.request.tag));
}

void SimHub::arrive(std::uint32_t f) {
  SimEndpoint* to = find(flights_[f].to_serial);
  if (to == nullptr) {
    flights_.give_back(f);
    return;
  }
  to->take(f);
}

void SimHub::notify_death(const SimEndpoint& of, std::uint64_t peer_serial, std::uint64_t link) {
  const std::uint32_t n = notices_.take();
  notices_[n] = {.serial = peer_serial, .about = of.self(), .link = link};
  set_timer(of.self(), now() + options_.death_notice, death, n);
}

void SimHub::on_timer(std::uint16_t detail, std::uint64_t payload) {
  switch (detail) {
    case local_arrival:
      arrive(static_cast<std::uint32_t>(payload));
      break;
    case death: {
      const auto n = static_cast<std::uint32_t>(payload);
      const Notice notice = notices_[n];
      notices_.give_back(n);
      if (SimEndpoint* told = find(notice.serial)) told->link_ended(notice.about, notice.link);
      break;
    }
    case unreachable:
      for (SimEndpoint* endpoint : endpoints_) {
        if (endpoint != nullptr) endpoint->drop_unreachable();
      }
      break;
    default:
      break;
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
  set_timer(node, now() + options_.peer_timeout, unreachable, node.value());
}

void SimHub::set_partition(const std::vector<std::vector<std::uint32_t>>& groups) {
  group_.clear();
  if (!groups.empty()) {
    partitioned_since_ = now();
    group_.assign(hosts_.size(), 0);
    for (std::uint32_t g = 0; g < groups.size(); ++g) {
      for (const std::uint32_t node : groups[g]) group_[node] = g + 1;
    }
    set_timer(NodeId(0), now() + options_.peer_timeout, unreachable, 0);
  }
  relaunch_parked();
}

void SimHub::relaunch_parked() {
  std::vector<std::pair<std::uint32_t, std::uint8_t>> waiting;
  waiting.swap(parked_);
  for (const auto& [flight, level] : waiting) launch(flight, level);
  for (SimEndpoint* endpoint : endpoints_) {
    if (endpoint != nullptr) endpoint->connect_all();
  }
}

}  // namespace weft::sim
