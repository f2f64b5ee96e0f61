// SPDX-License-Identifier: Apache-2.0
// A simulation in several parts does the same as in one, for any division.
#include "sim/partition/windows.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>

#include "base/rng.hpp"
#include "sim/partition/partition.hpp"
#include "sim/partition/thread_exchange.hpp"
#include "sim/routing/routers.hpp"
#include "sim/topology/builders.hpp"
#include "sim/traffic/traffic.hpp"

namespace weft::sim {
namespace {

struct Case {
  std::string topology = "fat-tree:32";
  std::string router;
  TrafficPattern pattern = TrafficPattern::uniform;
  double load = 0.7;
  std::uint64_t message_bytes = 4096;
  std::uint32_t buffer_packets = 4;
  std::uint32_t levels = 2;
  bool cut_through = true;
  bool slow_cables = false;  ///< between switches, of unequal rates
  PicoDuration injection_gap{};
  std::uint64_t seed = 1;
  bool scattered = false;  ///< each vertex in a part drawn at random
  std::uint32_t loss = 0;  ///< of a million packets, on every link
  std::int64_t microseconds = 20;
};

struct Outcome {
  std::uint64_t sent = 0, delivered = 0, delivered_bytes = 0, hops = 0, packets = 0, events = 0;
  std::uint64_t hash = 0;
  std::uint64_t latency_sum = 0;
  std::uint64_t in_flight = 0;
  std::uint64_t ranks_at_rest = 0;
  std::uint64_t link_bytes = 0;  ///< each link's, weighted by its number
  std::vector<std::uint64_t> buckets;
  bool operator==(const Outcome&) const = default;
};

void PrintTo(const Outcome& o, std::ostream* out) {
  *out << fmt::format(
      "sent {} delivered {} hops {} events {} hash {:x} latencies {} in flight {} links {}", o.sent,
      o.delivered, o.hops, o.events, o.hash, o.latency_sum, o.in_flight, o.link_bytes);
}

std::vector<std::uint32_t> owners_of(const Case& c, const Topology& topology, std::uint32_t ranks) {
  if (!c.scattered) return partition(topology, ranks);
  Rng rng(c.seed * 977 + ranks);
  std::vector<std::uint32_t> owners;
  for (std::uint32_t v = 0; v < topology.vertices(); ++v) {
    owners.push_back(static_cast<std::uint32_t>(rng.below(ranks)));
  }
  return owners;
}

std::vector<std::unique_ptr<Traffic>> make_traffic(const Case& c, Network& network,
                                                   Agents& agents) {
  std::vector<std::uint32_t> hosts(network.topology().hosts());
  std::iota(hosts.begin(), hosts.end(), 0);
  std::vector<std::unique_ptr<Traffic>> traffic;
  for (std::uint32_t level = 0; level < c.levels; ++level) {
    const TrafficOptions options{.pattern = c.pattern,
                                 .load = c.load / c.levels,
                                 .message_bytes = c.message_bytes,
                                 .level = static_cast<std::uint8_t>(level),
                                 .end = PicoInstant() + PicoDuration::microseconds(c.microseconds),
                                 .seed = c.seed * 16 + level};
    traffic.push_back(std::make_unique<Traffic>(options, hosts, network, agents));
  }
  return traffic;
}

/// One rank's part of a run; the figures are those of all ranks.
Outcome run_rank(const Case& c, const Topology& topology, Exchange& exchange) {
  const std::string name = c.router.empty() ? std::string(default_router(topology)) : c.router;
  const auto router = make_router(name, topology);
  NetworkOptions like;
  like.mtu = 2048;
  like.packet_overhead = 30;
  like.buffer_bytes = c.buffer_packets * (like.mtu + like.packet_overhead);
  like.levels.assign(c.levels, {});
  like.cut_through = c.cut_through;
  if (c.slow_cables) {
    like.local_link.rate = Bandwidth::bytes_per_second(7'000'000'000);
    like.global_link.rate = Bandwidth::bytes_per_second(3'000'000'000);
  }
  like.injection_gap = c.injection_gap;
  Engine engine(topology.vertices());
  Agents agents(engine);
  Border border(owners_of(c, topology, exchange.size()), exchange.rank(), exchange.size());
  Network network(topology, **router, like, engine, c.seed, &border);
  const auto rest = static_cast<std::uint32_t>(c.message_bytes % like.mtu);
  Windows windows(engine, network, exchange, border,
                  {.smallest_packet = (rest == 0 ? like.mtu : rest) + like.packet_overhead,
                   .lossy = c.loss > 0});
  for (std::uint32_t l = 0; c.loss > 0 && l < topology.links(); ++l) {
    network.set_loss(LinkId(l), c.loss);
  }
  const auto traffic = make_traffic(c, network, agents);
  // In two pieces, the first of which ends amid traffic.
  windows.run_until(PicoInstant() + PicoDuration::microseconds(c.microseconds / 2));
  windows.run_until(PicoInstant::never());
  std::vector<std::uint64_t> sums = {0,
                                     0,
                                     0,
                                     network.packet_hops(),
                                     network.packets_delivered(),
                                     engine.events(),
                                     engine.trace_hash(),
                                     0,
                                     network.packets_in_flight() + network.messages_in_flight(),
                                     network.at_rest() ? 1U : 0U,
                                     0};
  LatencyHistogram latencies;
  for (const auto& t : traffic) {
    sums[0] += t->sent();
    sums[1] += t->delivered();
    sums[2] += t->delivered_bytes();
    latencies.add(t->latencies());
  }
  sums[7] = latencies.sum_ps;
  for (std::uint32_t l = 0; l < topology.links(); ++l) {
    sums[10] += network.counters(LinkId(l)).bytes * (l + 1);
  }
  sums.insert(sums.end(), latencies.buckets.begin(), latencies.buckets.end());
  exchange.sum(sums);
  return {sums[0],  sums[1],
          sums[2],  sums[3],
          sums[4],  sums[5],
          sums[6],  sums[7],
          sums[8],  sums[9] == exchange.size(),
          sums[10], {sums.begin() + 11, sums.end()}};
}

Outcome run(const Case& c, std::uint32_t ranks) {
  const auto topology = make_topology(c.topology);
  EXPECT_TRUE(topology.ok());
  Outcome outcome;
  run_in_threads(ranks, [&](Exchange& exchange) {
    const Outcome mine = run_rank(c, *topology, exchange);
    if (exchange.rank() == 0) outcome = mine;
  });
  return outcome;
}

void expect_same_for_any_ranks(const Case& c, const std::vector<std::uint32_t>& ranks) {
  const Outcome alone = run(c, 1);
  EXPECT_GT(alone.delivered, 0u);
  EXPECT_EQ(alone.delivered, alone.sent);
  EXPECT_EQ(alone.in_flight, 0u);
  EXPECT_EQ(alone.ranks_at_rest, 1u);
  for (const std::uint32_t r : ranks) {
    EXPECT_EQ(run(c, r), alone) << c.topology << " " << c.router << " in " << r << " parts";
  }
}

TEST(windows, every_topology_and_router_does_the_same_in_any_number_of_parts) {
  const std::pair<const char*, const char*> networks[] = {
      {"star:12", ""},         {"fat-tree:32", "d-mod-k"}, {"fat-tree:64,levels=3", "adaptive"},
      {"fat-tree:32", "ecmp"}, {"dragonfly:72", "ugal"},   {"dragonfly:72", "minimal"},
      {"torus:4x4", ""}};
  for (const auto& [topology, router] : networks) {
    expect_same_for_any_ranks({.topology = topology, .router = router}, {2, 3, 4, 7});
  }
}

TEST(windows, a_switch_and_its_hosts_may_be_in_different_parts) {
  for (const char* topology : {"star:12", "fat-tree:32", "dragonfly:72", "torus:4x4"}) {
    expect_same_for_any_ranks({.topology = topology, .scattered = true}, {2, 5});
  }
}

TEST(windows, every_pattern_does_the_same_in_any_number_of_parts) {
  for (const auto pattern : {TrafficPattern::uniform, TrafficPattern::permutation,
                             TrafficPattern::incast, TrafficPattern::bursts}) {
    expect_same_for_any_ranks({.pattern = pattern, .load = 0.4}, {2, 4});
  }
}

TEST(windows, buffers_of_one_packet_make_no_difference) {
  for (const std::uint64_t bytes : {2048U, 5000U}) {
    expect_same_for_any_ranks(
        {.pattern = TrafficPattern::bursts, .message_bytes = bytes, .buffer_packets = 1}, {2, 3});
    expect_same_for_any_ranks(
        {.message_bytes = bytes, .buffer_packets = 1, .cut_through = false, .scattered = true},
        {3});
  }
}

TEST(windows, packets_from_slow_cables_wait_for_their_ends_in_any_part) {
  expect_same_for_any_ranks({.topology = "dragonfly:36", .load = 0.4, .slow_cables = true}, {2, 4});
  expect_same_for_any_ranks({.router = "adaptive", .slow_cables = true, .scattered = true}, {3});
  expect_same_for_any_ranks(
      {.topology = "torus:3x3x3", .message_bytes = 5000, .buffer_packets = 1, .slow_cables = true},
      {2, 3});
}

TEST(windows, messages_of_many_packets_are_put_together_where_they_end) {
  expect_same_for_any_ranks({.topology = "fat-tree:32",
                             .router = "adaptive",
                             .message_bytes = 100'001,
                             .microseconds = 100},
                            {2, 4});
}

TEST(windows, what_is_lost_anywhere_is_sent_again_by_its_host_wherever_that_is) {
  for (const char* topology : {"star:12", "fat-tree:32", "torus:4x4"}) {
    for (const std::uint64_t bytes : {2048U, 100'001U}) {
      for (const bool scattered : {false, true}) {
        expect_same_for_any_ranks({.topology = topology,
                                   .message_bytes = bytes,
                                   .scattered = scattered,
                                   .loss = 30'000,
                                   .microseconds = 100},
                                  {2, 4});
      }
    }
  }
}

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(windows, random_networks_do_the_same_in_any_number_of_parts) {
  constexpr const char* topologies[] = {"star:9",       "fat-tree:16", "fat-tree:48,levels=3",
                                        "dragonfly:36", "torus:3x3x3", "torus:5,hosts=3"};
  const std::uint64_t only = setting("WEFT_TEST_SEED", 0);
  const std::uint64_t last = only != 0 ? only : setting("WEFT_TEST_SEEDS", 40);
  for (std::uint64_t seed = only != 0 ? only : 1; seed <= last; ++seed) {
    Rng rng(seed);
    const Case c{.topology = topologies[rng.below(std::size(topologies))],
                 .pattern = static_cast<TrafficPattern>(rng.below(4)),
                 .load = 0.1 + rng.uniform() * 1.2,
                 .message_bytes = 1 + rng.below(12'000),
                 .buffer_packets = static_cast<std::uint32_t>(1 + rng.below(5)),
                 .levels = static_cast<std::uint32_t>(1 + rng.below(3)),
                 .cut_through = rng.below(3) != 0,
                 .injection_gap = PicoDuration(static_cast<std::int64_t>(rng.below(2) * 150'000)),
                 .seed = seed,
                 .scattered = rng.below(2) == 0,
                 .loss = rng.below(4) == 0 ? static_cast<std::uint32_t>(rng.below(200'000)) : 0,
                 .microseconds = 10};
    const auto ranks = static_cast<std::uint32_t>(2 + rng.below(4));
    const Outcome alone = run(c, 1), divided = run(c, ranks);
    ASSERT_EQ(divided, alone) << c.topology << " in " << ranks
                              << " parts; rerun: WEFT_TEST_SEED=" << seed
                              << " sim_partition_test --gtest_filter=windows.random*";
  }
}

TEST(windows, each_part_has_the_records_of_its_own_vertices_only) {
  const auto topology = make_topology("fat-tree:64,levels=3");
  const auto router = make_router("d-mod-k", *topology);
  NetworkOptions like;
  like.levels.assign(8, {});
  Engine engine(topology->vertices());
  const std::uint64_t whole = Network(*topology, **router, like, engine, 1).memory_bytes();
  for (const std::uint32_t ranks : {2U, 4U}) {
    run_in_threads(ranks, [&](Exchange& exchange) {
      Engine own_engine(topology->vertices());
      Border border(partition(*topology, ranks), exchange.rank(), ranks);
      Network network(*topology, **router, like, own_engine, 1, &border);
      EXPECT_LT(network.memory_bytes() * ranks, whole * 11 / 10);
      // A record that belongs to another part does nothing here, and may be set as in all parts.
      for (std::uint32_t l = 0; l < topology->links(); ++l) {
        network.set_up(LinkId(l), false);
        network.set_rate(LinkId(l), Bandwidth::bytes_per_second(1'000'000));
        EXPECT_EQ(network.counters(LinkId(l)), LinkCounters{});
      }
      EXPECT_EQ(network.links_down(), topology->links());
      for (std::uint32_t l = 0; l < topology->links(); ++l) network.set_up(LinkId(l), true);
      EXPECT_EQ(network.links_down(), 0U);
    });
  }
}

TEST(windows, are_as_long_as_what_crosses_takes_at_least) {
  const auto topology = make_topology("fat-tree:32");
  run_in_threads(2, [&](Exchange& exchange) {
    const auto router = make_router("d-mod-k", *topology);
    NetworkOptions like;  // 10 ns of cable, 100 ns of switch; 100 Gbit/s: 80 ps a byte
    Engine engine(topology->vertices());
    Agents agents(engine);
    Border border(partition(*topology, 2), exchange.rank(), 2);
    Network network(*topology, **router, like, engine, 1, &border);
    const Windows large(engine, network, exchange, border, {.smallest_packet = 4096});
    EXPECT_EQ(large.length(), PicoDuration::nanoseconds(110));
    const Windows small(engine, network, exchange, border, {.smallest_packet = 100});
    EXPECT_EQ(small.length(), PicoDuration::nanoseconds(18));
    Windows fast(engine, network, exchange, border, {.smallest_packet = 100});
    fast.expect_rates_up_to(Bandwidth::bytes_per_second(25'000'000'000));
    EXPECT_EQ(fast.length(), PicoDuration::nanoseconds(14)) << "40 ps a byte";
  });
}

}  // namespace
}  // namespace weft::sim
