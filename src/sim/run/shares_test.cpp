// SPDX-License-Identifier: Apache-2.0
// Shares of links that are known by hand: of flows that always have something to send. Links carry
// a byte per nanosecond, packets have 1,000 bytes and take a microsecond.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "base/rng.hpp"
#include "sim/network/network.hpp"
#include "sim/routing/test_walk.hpp"

namespace weft::sim {
namespace {

constexpr std::uint32_t packet = 1000;

NetworkOptions plain() {
  NetworkOptions o;
  const LinkOptions link{.rate = Bandwidth::bytes_per_second(1'000'000'000),
                         .latency = PicoDuration::nanoseconds(10)};
  o.host_link = o.local_link = o.global_link = link;
  o.mtu = packet;
  o.buffer_bytes = 32 * packet;
  return o;
}

struct Flow {
  std::uint32_t from;
  std::uint32_t to;
  std::uint8_t level = 0;
};

/// Flows that send packet after packet; counts the bytes of each that arrive.
class Flows final : public NetworkUser {
 public:
  Flows(const Topology& topology, std::string_view router, const NetworkOptions& options,
        std::vector<Flow> flows)
      : router_(router_of(router, topology)),
        engine_(topology.vertices()),
        network_(topology, *router_, options, engine_, 1),
        flows_(std::move(flows)),
        arrived_(flows_.size()) {
    network_.add_user(*this);
    for (std::size_t f = 0; f < flows_.size(); ++f) {
      for (int i = 0; i < 3; ++i) send(f);
    }
  }

  /// Shares of a link that the flows have once `after_us` are over, for `for_us`.
  std::vector<double> shares(std::int64_t after_us, std::int64_t for_us) {
    run_until(after_us);
    const auto before = arrived_;
    run_until(after_us + for_us);
    std::vector<double> shares;
    for (std::size_t f = 0; f < flows_.size(); ++f) {
      shares.push_back(static_cast<double>(arrived_[f] - before[f]) / static_cast<double>(for_us));
    }
    return shares;
  }

  void on_sent(const Message& message, PicoInstant) override { send(message.request.tag); }
  void on_arrived(const Message& message) override { ++arrived_[message.request.tag]; }

 private:
  void send(std::size_t flow) {
    const Flow& f = flows_[flow];
    network_.send({.source = f.from,
                   .destination = f.to,
                   .bytes = packet,
                   .level = f.level,
                   .flow = flow,
                   .tag = flow});
  }
  void run_until(std::int64_t us) {
    engine_.run_until(PicoInstant() + PicoDuration::microseconds(us));
  }

  std::unique_ptr<Router> router_;
  Engine engine_;
  Network network_;
  std::vector<Flow> flows_;
  std::vector<std::uint64_t> arrived_;
};

void expect_shares(const std::vector<double>& measured, const std::vector<double>& expected,
                   double tolerance = 0.02) {
  ASSERT_EQ(measured.size(), expected.size());
  for (std::size_t f = 0; f < measured.size(); ++f) {
    EXPECT_NEAR(measured[f], expected[f], tolerance * expected[f]) << "flow " << f;
  }
}

TEST(shares, inputs_of_a_star_share_an_output_equally) {
  const Topology t = topology_of("star:6");
  Flows flows(t, "d-mod-k", plain(), {{0, 5}, {1, 5}, {2, 5}, {3, 5}, {4, 5}});
  expect_shares(flows.shares(100, 1000), {0.2, 0.2, 0.2, 0.2, 0.2});
}

/// Three switches in a row: at each port the inputs take turns, no matter how many flows each has.
TEST(shares, flows_in_a_parking_lot_have_a_half_a_quarter_and_a_quarter) {
  auto t = Topology::make("parking lot", 4, 3);
  ASSERT_TRUE(t.ok());
  for (std::uint32_t h = 0; h < 4; ++h) {
    t->connect(t->host(h), t->switch_at(std::min(h, 2u)), CableKind::host);
  }
  t->connect(t->switch_at(0), t->switch_at(1), CableKind::local);
  t->connect(t->switch_at(1), t->switch_at(2), CableKind::local);
  ASSERT_TRUE(t->finish().ok());
  Flows flows(*t, "shortest", plain(), {{2, 3}, {1, 3}, {0, 3}});
  expect_shares(flows.shares(500, 4000), {0.5, 0.25, 0.25});
}

TEST(shares, weights_from_1_1_to_1_255_hold_from_one_host_and_from_two) {
  const Topology t = topology_of("star:3");
  for (const std::uint8_t weight : {1, 2, 7, 16, 64, 255}) {
    SCOPED_TRACE(int{weight});
    NetworkOptions o = plain();
    o.levels = {{.weight = 1}, {.weight = weight}};
    const double light = 1.0 / (1.0 + weight);
    const std::int64_t rounds = 200 * (1 + weight);
    Flows one(t, "d-mod-k", o, {{0, 2, 0}, {0, 2, 1}});
    expect_shares(one.shares(rounds, rounds), {light, 1 - light});
    Flows two(t, "d-mod-k", o, {{0, 2, 0}, {0, 2, 1}, {1, 2, 0}, {1, 2, 1}});
    const auto shares = two.shares(rounds, rounds);
    expect_shares({shares[0] + shares[2], shares[1] + shares[3]}, {light, 1 - light});
  }
}

/// Credits take longer than the buffer lasts, so that the heavy level waits for them in each of its
/// turns. It used to lose the rest of the turn, and the shares were equal.
TEST(shares, a_level_that_waits_for_credits_keeps_its_share) {
  const Topology t = topology_of("star:2");
  NetworkOptions o = plain();
  o.host_link.latency = PicoDuration::microseconds(1);
  o.buffer_bytes = 3 * packet;
  o.reserve_bytes = 3 * packet;
  o.levels = {{.weight = 64}, {.weight = 32}};
  Flows flows(t, "d-mod-k", o, {{0, 1, 0}, {0, 1, 1}});
  expect_shares(flows.shares(1000, 20'000), {2.0 / 3, 1.0 / 3});
}

/// When credits hold back the heavy level, others send: no link is idle for its sake.
TEST(shares, a_level_whose_buffer_is_small_has_what_that_carries_and_the_other_the_rest) {
  const Topology t = topology_of("star:2");
  NetworkOptions o = plain();
  o.host_link.latency = PicoDuration::microseconds(1);
  o.buffer_bytes = 2 * packet;
  o.levels = {{.weight = 64}, {.weight = 1}};
  Flows flows(t, "d-mod-k", o, {{0, 1, 0}, {0, 1, 1}});
  // It may have two packets on their way, and credits take 3.1 us: two of four packets.
  const auto shares = flows.shares(1000, 20'000);
  EXPECT_NEAR(shares[0], 0.5, 0.05);
  EXPECT_GT(shares[0] + shares[1], 0.9);
}

/// On the cable from switch 0 to switch 1 the light level has packets in both classes (one flow has
/// come over the cable that closes the ring), the heavy one in one.
TEST(shares, levels_have_their_shares_whatever_channel_classes_their_packets_are_in) {
  const Topology t = topology_of("torus:8");
  NetworkOptions o = plain();
  o.levels = {{.weight = 1}, {.weight = 3}};
  Flows flows(t, "dimension-order", o, {{7, 1, 0}, {0, 2, 0}, {0, 2, 1}});
  const auto shares = flows.shares(1000, 8000);
  expect_shares({shares[0] + shares[1], shares[2]}, {0.25, 0.75});
  expect_shares({shares[0], shares[1]}, {0.125, 0.125});
}

TEST(shares, sixteen_levels_do_not_have_the_memory_of_sixteen) {
  const Topology t = topology_of("star:3");
  NetworkOptions o = plain();
  o.levels.assign(16, {});
  EXPECT_EQ(level_reserve(o), 2 * packet);
  // A level that nobody disturbs has the whole buffer, as it would alone: 32 packets of it go out
  // to a host that takes none. With all levels it is their reserves on top.
  const auto sent = [&](std::uint8_t levels) {
    const auto router = router_of("d-mod-k", t);
    Engine engine(t.vertices());
    Network network(t, *router, o, engine, 1);
    class : public NetworkUser {
      void on_sent(const Message&, PicoInstant) override {}
      void on_arrived(const Message&) override {}
    } user;
    network.add_user(user);
    network.set_up(t.link({t.switch_at(0), PortNumber(2)}), false);
    for (std::uint8_t level = 0; level < levels; ++level) {
      network.send({.source = 0, .destination = 2, .bytes = 100 * packet, .level = level});
    }
    engine.run_until(PicoInstant() + PicoDuration::microseconds(1000));
    return network.counters(t.link({t.host(0), PortNumber(0)})).packets;
  };
  EXPECT_EQ(sent(1), 32u);
  EXPECT_EQ(sent(2), 34u);
  EXPECT_EQ(sent(16), 32u + 15 * 2);
}

/// The shares of inputs in an output that takes `1`: none more than it has, others equally.
std::map<std::uint32_t, double> water_fill(std::map<std::uint32_t, double> wanted) {
  double left = 1;
  std::map<std::uint32_t, double> got;
  while (!wanted.empty()) {
    const double equal = left / static_cast<double>(wanted.size());
    const auto least =
        std::min_element(wanted.begin(), wanted.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    got[least->first] = std::min(least->second, equal);
    left -= got[least->first];
    wanted.erase(least);
  }
  return got;
}

/// Rates of flows when at each port, from the sources on, the inputs are water-filled.
std::vector<double> port_by_port(const std::vector<std::vector<std::uint32_t>>& ways) {
  std::vector<double> rates(ways.size(), 1);
  for (std::size_t hop = 1; hop < 8; ++hop) {
    std::map<std::uint32_t, std::map<std::uint32_t, double>> outputs;
    for (std::size_t f = 0; f < ways.size(); ++f) {
      if (hop < ways[f].size()) outputs[ways[f][hop]][ways[f][hop - 1]] += rates[f];
    }
    for (const auto& [link, wanted] : outputs) {
      const auto got = water_fill(wanted);
      for (std::size_t f = 0; f < ways.size(); ++f) {
        if (hop >= ways[f].size() || ways[f][hop] != link) continue;
        rates[f] *= got.at(ways[f][hop - 1]) / wanted.at(ways[f][hop - 1]);
      }
    }
  }
  return rates;
}

TEST(shares, a_permutation_on_a_fat_tree_has_what_filling_port_by_port_says) {
  const Topology t = topology_of("fat-tree:64,levels=2,radix=16");
  const auto router = router_of("d-mod-k", t);
  for (const std::uint64_t seed : {1, 2, 3}) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    std::vector<std::uint32_t> order(t.hosts());
    std::iota(order.begin(), order.end(), 0u);
    for (std::size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[rng.below(i + 1)]);
    std::vector<Flow> flows;
    std::vector<std::vector<std::uint32_t>> ways;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const Flow flow{order[i], order[(i + 1) % order.size()]};
      flows.push_back(flow);
      ways.push_back({t.link({t.host(flow.from), PortNumber(0)}).value()});
      for (const Step& s : walk(t, *router, flow.from, flow.to, 0, rng)) {
        ways.back().push_back(t.link({t.switch_at(s.at), PortNumber(s.port)}).value());
      }
    }
    Flows simulated(t, "d-mod-k", plain(), flows);
    expect_shares(simulated.shares(1000, 2000), port_by_port(ways), 0.05);
  }
}

}  // namespace
}  // namespace weft::sim
