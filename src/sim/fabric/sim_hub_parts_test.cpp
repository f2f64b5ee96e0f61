// SPDX-License-Identifier: Apache-2.0
// Endpoints that connect, break, die and come back at random: the same in a simulation that is
// divided, and at the end everybody reaches everybody.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <vector>

#include "base/rng.hpp"
#include "sim/fabric/sim_hub.hpp"
#include "sim/partition/partition.hpp"
#include "sim/partition/thread_exchange.hpp"
#include "sim/partition/windows.hpp"
#include "sim/routing/routers.hpp"
#include "sim/topology/builders.hpp"

namespace weft::sim {
namespace {

constexpr std::uint32_t nodes = 8;
constexpr PicoDuration tick = PicoDuration::nanoseconds(700);
constexpr std::uint32_t random_ticks = 300;
constexpr std::uint32_t healing_ticks = 250;
constexpr std::uint32_t last_tick = random_ticks + healing_ticks + 100;

NetworkOptions network_options() {
  NetworkOptions like = *network_preset("ib-qdr");
  like.levels = {{.weight = 3}, {.weight = 1}};  // messages of a pair overtake each other
  for (LinkOptions* link : {&like.host_link, &like.local_link}) {
    link->latency = PicoDuration::nanoseconds(200);
  }
  return like;
}

SimFabricOptions fabric_options(std::size_t copied_bytes) {
  return {.max_outstanding = 64,
          .copied_bytes = copied_bytes,
          .death_notice = PicoDuration::microseconds(20),
          .peer_timeout = PicoDuration::microseconds(30)};
}

/// A node that posts operations for the test and records its completions.
class Node {
 public:
  Node(SimHub& hub, NodeId self, Incarnation life)
      : self_(self), memory_(4096), fabric_(hub.open(self, life, [] {})) {
    EXPECT_TRUE(fabric_->expose(memory_).ok());
  }
  Fabric& fabric() { return *fabric_; }

  /// The write is one that must not be when it goes beyond the memory of that life.
  void post(NodeId peer, Incarnation life, bool is_write, std::uint64_t offset, std::size_t size) {
    auto bytes = std::make_unique<std::vector<std::byte>>(size);
    for (auto& byte : *bytes) byte = static_cast<std::byte>(next_context_ * 7 + size);
    TxOp op;
    op.kind = is_write ? OpKind::write : OpKind::send;
    op.peer = peer;
    op.context = next_context_;
    op.service_level = ServiceLevel(static_cast<std::uint8_t>(next_context_ % 2));
    op.segments = {std::span(*bytes).first(size / 3), std::span(*bytes).subspan(size / 3)};
    op.region = {.key = std::uint64_t{life.value()} << 32, .base = 0, .length = 4096};
    op.region_offset = offset;
    if (fabric_->post({&op, 1}) == 1) outstanding_.emplace(next_context_++, std::move(bytes));
  }

  void poll(PicoInstant now, std::string& log) {
    Completion completions[8];
    const std::size_t n = fabric_->poll({}, completions);
    for (std::size_t i = 0; i < n; ++i) {
      const Completion& c = completions[i];
      log += fmt::format("{} {} {} {} {}", now.ticks(), static_cast<int>(c.kind), c.peer.value(),
                         c.incarnation.value(), c.context);
      if (c.kind == CompletionKind::peer_up) up_[c.peer] = c.incarnation;
      if (c.kind == CompletionKind::peer_down) up_.erase(c.peer);
      if (c.kind == CompletionKind::received) {
        const std::uint64_t sum = std::accumulate(
            memory_.begin(), memory_.end(), std::uint64_t{c.data.size()},
            [](std::uint64_t s, std::byte b) { return s * 31 + static_cast<std::uint64_t>(b); });
        log += fmt::format(" {:x}", sum);
        heard_from_[c.peer] += 1;
      }
      log += '\n';
      const bool ends = c.kind == CompletionKind::sent || c.kind == CompletionKind::written ||
                        c.kind == CompletionKind::failed;
      // Its memory is gone from here on.
      EXPECT_EQ(outstanding_.erase(ends ? c.context : 0), ends ? 1u : 0u);
    }
  }
  const std::map<NodeId, Incarnation>& up() const { return up_; }
  std::map<NodeId, std::uint32_t>& heard_from() { return heard_from_; }

 private:
  NodeId self_;
  std::vector<std::byte> memory_;
  std::map<std::uint64_t, std::unique_ptr<std::vector<std::byte>>> outstanding_;
  std::unique_ptr<Fabric> fabric_;
  std::uint64_t next_context_ = 1;
  std::map<NodeId, Incarnation> up_;
  std::map<NodeId, std::uint32_t> heard_from_;
};

/// The same play in every part, with the nodes of its own.
class Play final : private Agent {
 public:
  Play(std::uint64_t seed, Exchange& exchange)
      : rng_(seed),
        topology_(make_topology("torus:4,hosts=2").value()),
        router_(make_router(default_router(topology_), topology_).value()),
        engine_(topology_.vertices()),
        agents_(engine_),
        border_(partition(topology_, exchange.size()), exchange.rank(), exchange.size()),
        network_(topology_, *router_, network_options(), engine_, seed,
                 exchange.size() > 1 ? &border_ : nullptr) {
    if (exchange.size() > 1) {
      const SimFabricOptions like = fabric_options(0);
      windows_.emplace(
          engine_, network_, exchange, border_,
          Guarantees{.smallest_packet = 1, .words_matter_after = like.acknowledgement});
    }
    std::vector<std::uint32_t> hosts(nodes);
    std::iota(hosts.begin(), hosts.end(), 0u);
    hub_.emplace(fabric_options(rng_.below(2) == 0 ? 64 : 1 << 20), hosts, network_, agents_);
    agent_ = agents_.add(*this);
    for (std::uint32_t n = 0; n < nodes; ++n) begin_life(n);
    for (std::uint32_t t = 1; t <= last_tick; ++t) {
      agents_.set_shared_timer(agent_, PicoInstant() + tick * t, 0, t);
    }
  }

  void run() {
    const PicoInstant end = PicoInstant() + tick * (last_tick + 1);
    if (windows_) {
      windows_->run_until(end);
    } else {
      engine_.run_until(end);
    }
  }
  const std::string& log(std::uint32_t n) const { return logs_[n]; }
  bool is_here(std::uint32_t n) const { return hub_->is_here(NodeId(n)); }
  std::uint64_t trace_hash() const { return engine_.trace_hash(); }
  bool at_rest() const { return network_.at_rest(); }

  void expect_all_connected() {
    for (std::uint32_t a = 0; a < nodes; ++a) {
      if (!is_here(a)) continue;
      for (std::uint32_t b = 0; b < nodes; ++b) {
        if (b == a) continue;
        const auto up = node_[a]->up().find(NodeId(b));
        ASSERT_TRUE(up != node_[a]->up().end()) << a << " has lost " << b;
        EXPECT_EQ(up->second.value(), life_[b]) << a << " " << b;
        EXPECT_EQ(node_[a]->heard_from()[NodeId(b)], 1u) << a << " " << b;
      }
    }
  }

 private:
  void begin_life(std::uint32_t n) {
    ++life_[n];
    alive_[n] = true;
    if (is_here(n)) {
      node_[n] = std::make_unique<Node>(*hub_, NodeId(n), Incarnation(life_[n]));
    } else {
      hub_->begin_elsewhere(NodeId(n), Incarnation(life_[n]));
    }
    for (std::uint32_t other = 0; other < nodes; ++other) {
      introduce(n, other);
      introduce(other, n);
    }
  }
  void introduce(std::uint32_t to, std::uint32_t n) {
    if (to == n || !alive_[to] || !alive_[n] || !is_here(to)) return;
    const auto added =
        node_[to]->fabric().add_peer(NodeId(n), Incarnation(life_[n]), hub_->address_of(NodeId(n)));
    EXPECT_TRUE(added.ok());
  }
  void end_life(std::uint32_t n) {
    alive_[n] = false;
    if (is_here(n)) {
      node_[n].reset();
    } else {
      hub_->end_elsewhere(NodeId(n));
    }
  }

  void on_timer(std::uint16_t, std::uint64_t t) override {
    for (std::uint32_t n = 0; n < nodes; ++n) {
      if (node_[n]) node_[n]->poll(engine_.now(), logs_[n]);
    }
    if (t < random_ticks) return act();
    if (t == random_ticks) heal();
    if (t != random_ticks + healing_ticks) return;
    for (std::uint32_t a = 0; a < nodes; ++a) {
      if (!is_here(a)) continue;
      node_[a]->heard_from().clear();
    }
    for (std::uint32_t a = 0; a < nodes; ++a) {
      for (std::uint32_t b = 0; b < nodes; ++b) {
        if (a != b && is_here(a)) node_[a]->post(NodeId(b), Incarnation(life_[b]), false, 0, 100);
      }
    }
  }

  /// All parts draw the same actions; the part with the endpoint carries them out.
  void act() {
    for (std::uint64_t posts = rng_.below(6); posts > 0; --posts) {
      const auto a = static_cast<std::uint32_t>(rng_.below(nodes));
      const auto b = static_cast<std::uint32_t>((a + 1 + rng_.below(nodes - 1)) % nodes);
      const bool is_write = rng_.below(2) == 0, is_bad = rng_.below(40) == 0;
      const std::uint64_t offset = is_bad ? 4000 : rng_.below(1000);
      const std::size_t size = 100 + rng_.below(is_write ? 2900 : 500);
      if (node_[a]) node_[a]->post(NodeId(b), Incarnation(life_[b]), is_write, offset, size);
    }
    const auto a = static_cast<std::uint32_t>(rng_.below(nodes));
    const auto b = static_cast<std::uint32_t>((a + 1 + rng_.below(nodes - 1)) % nodes);
    switch (rng_.below(60)) {
      case 0:
        if (alive_[a]) end_life(a);
        break;
      case 1:
      case 2:
        if (!alive_[a]) begin_life(a);
        break;
      case 3:
        if (node_[a]) node_[a]->fabric().remove_peer(NodeId(b));
        break;
      case 4:
        if (node_[a]) node_[a]->fabric().remove_peer(NodeId(b));
        introduce(a, b);
        break;
      case 5:
      case 6:
        introduce(a, b);
        break;
      case 7:
        hub_->set_reachable(NodeId(a), false);
        break;
      case 8:
      case 9:
        hub_->set_reachable(NodeId(a), true);
        break;
      case 10:
        hub_->set_partition({{a, b}});
        break;
      case 11:
        hub_->set_partition({});
        break;
      default:
        break;
    }
  }

  void heal() {
    hub_->set_partition({});
    for (std::uint32_t n = 0; n < nodes; ++n) {
      hub_->set_reachable(NodeId(n), true);
      if (!alive_[n]) begin_life(n);
    }
    for (std::uint32_t a = 0; a < nodes; ++a) {
      for (std::uint32_t b = 0; b < nodes; ++b) introduce(a, b);
    }
  }

  Rng rng_;
  Topology topology_;
  std::unique_ptr<Router> router_;
  Engine engine_;
  Agents agents_;
  Border border_;
  Network network_;
  std::optional<Windows> windows_;
  std::optional<SimHub> hub_;
  std::uint32_t agent_ = 0;
  std::unique_ptr<Node> node_[nodes];
  std::uint32_t life_[nodes] = {};
  bool alive_[nodes] = {};
  std::string logs_[nodes];
};

struct Seen {
  std::string logs[nodes];
  std::uint64_t trace_hash = 0;
};

Seen play(std::uint64_t seed, std::uint32_t parts) {
  Seen seen;
  std::mutex mutex;
  run_in_threads(parts, [&](Exchange& exchange) {
    Play play(seed, exchange);
    play.run();
    const std::lock_guard lock(mutex);
    play.expect_all_connected();
    EXPECT_TRUE(play.at_rest());
    seen.trace_hash += play.trace_hash();
    for (std::uint32_t n = 0; n < nodes; ++n) seen.logs[n] += play.log(n);
  });
  return seen;
}

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// By the number of parts.
class SimHubInParts : public testing::TestWithParam<std::uint32_t> {};

TEST_P(SimHubInParts, whatever_happens_to_connections_happens_as_in_the_whole) {
  const std::uint32_t parts = GetParam();
  const std::uint64_t only = setting("WEFT_TEST_SEED", 0);
  const std::uint64_t last = only != 0 ? only : setting("WEFT_TEST_SEEDS", 4);
  for (std::uint64_t seed = only != 0 ? only : 1; seed <= last; ++seed) {
    const Seen whole = play(seed, 1);
    const Seen divided = play(seed, parts);
    for (std::uint32_t n = 0; n < nodes; ++n) {
      EXPECT_GT(whole.logs[n].size(), 100u);
      EXPECT_EQ(divided.logs[n], whole.logs[n]) << "node " << n;
    }
    EXPECT_EQ(divided.trace_hash, whole.trace_hash);
    ASSERT_FALSE(testing::Test::HasFailure()) << parts << " parts; rerun: WEFT_TEST_SEED=" << seed
                                              << " sim_fabric_test --gtest_filter=*SimHubInParts*";
  }
}

INSTANTIATE_TEST_SUITE_P(sim_hub, SimHubInParts, testing::Values(2U, 3U, 4U));

TEST(sim_hub_play, connects_everybody_again_whatever_has_happened) {
  const std::uint64_t only = setting("WEFT_TEST_SEED", 0);
  const std::uint64_t last = only != 0 ? only : setting("WEFT_TEST_SEEDS", 100);
  for (std::uint64_t seed = only != 0 ? only : 1; seed <= last; ++seed) {
    play(seed, 1);
    ASSERT_FALSE(testing::Test::HasFailure())
        << "rerun: WEFT_TEST_SEED=" << seed << " sim_fabric_test --gtest_filter=sim_hub_play.*";
  }
}

}  // namespace
}  // namespace weft::sim
