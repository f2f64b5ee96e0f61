// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "sim/routing/test_walk.hpp"

namespace weft::sim {
namespace {

using testing::ElementsAre;

std::vector<Step> d_mod_k(const Topology& t, std::uint32_t from, std::uint32_t to) {
  Rng rng(1);
  return walk(t, *router_of("d-mod-k", t), from, to, 0, rng);
}

TEST(d_mod_k, takes_the_hand_worked_routes_of_a_three_level_tree) {
  // 128 leaves (0 …), 128 middle switches (128 …), 64 tops (256 …); digits of base 8.
  const Topology t = topology_of("fat-tree:1024,levels=3,radix=16");
  // 1023 = 1·512 + 7·64 + 7·8 + 7: up 7, up 7, down to pod 15, leaf 7, host 7.
  EXPECT_THAT(d_mod_k(t, 0, 1023),
              ElementsAre(Step{0, 8 + 7}, Step{128 + 7, 8 + 7}, Step{256 + 7 * 8 + 7, 15},
                          Step{128 + 15 * 8 + 7, 7}, Step{127, 7}));
  // 9 is in pod 0: only the first digit is used.
  EXPECT_THAT(d_mod_k(t, 0, 9), ElementsAre(Step{0, 8 + 1}, Step{128 + 1, 1}, Step{1, 1}));
  EXPECT_THAT(d_mod_k(t, 0, 5), ElementsAre(Step{0, 5}));
}

TEST(d_mod_k, foresees_at_every_switch_the_hop_that_it_will_choose) {
  // The last one is too large for a table of hops.
  for (const char* text :
       {"fat-tree:64,levels=2,radix=16,cables=2", "fat-tree:54,levels=3,radix=6",
        "fat-tree:40,levels=2,radix=12,taper=2", "fat-tree:324,levels=2,radix=36,cables=2",
        "fat-tree:8,levels=2,radix=36", "fat-tree:30,levels=3,radix=10",
        "fat-tree:250,levels=3,radix=10", "fat-tree:3000,levels=3,radix=24"}) {
    const Topology t = topology_of(text);
    const auto router = router_of("d-mod-k", t);
    Rng rng(1);
    for (std::uint32_t s = 0; s < t.switches(); ++s) {
      const Vertex at = t.switch_at(s);
      const std::vector<std::uint32_t> queued(t.ports(at));
      for (std::uint32_t to = 0; to < t.hosts(); ++to) {
        RouteState state;
        router->start(state, (to + 1) % t.hosts(), to, 0, rng);
        const KnownHop foreseen = router->foresee(at, state);
        ASSERT_TRUE(foreseen);
        const Hop hop = router->next(at, PortNumber(0), state, PortLoad(queued), rng);
        ASSERT_EQ(foreseen.hop().port, hop.port) << text << ", switch " << s << ", to " << to;
        ASSERT_EQ(foreseen.hop().channel, hop.channel);
      }
    }
  }
}

TEST(d_mod_k, wraps_where_a_leaf_has_more_hosts_than_cables_up) {
  // 10 hosts and 5 cables per leaf, 8 leaves per pod, 8 cables up per middle switch.
  const Topology t = topology_of("fat-tree:1024,levels=3,radix=16,taper=2");
  const auto first_two = [&](std::uint32_t to) {
    const auto steps = d_mod_k(t, 1023, to);
    return std::pair(steps.at(0).port - 4, steps.at(1).port - 7);  // hosts, leaves below
  };
  EXPECT_EQ(t.ports(t.edge(1023)), 4u + 5u);
  EXPECT_EQ(first_two(10), std::pair(0, 2));  // 10 mod 5, 10 / 5 mod 8
  EXPECT_EQ(first_two(15), std::pair(0, 3));  // shares the leaf's cable, not the next
  EXPECT_EQ(first_two(50), std::pair(0, 2));  // 10 mod 8: the second digit wraps, too
  EXPECT_EQ(first_two(14), std::pair(4, 2));
}

TEST(d_mod_k, wraps_in_two_levels_when_hosts_outnumber_the_tops) {
  const Topology t = topology_of("fat-tree:32,levels=2,radix=8");
  for (std::uint32_t to = 4; to < 32; ++to) {
    EXPECT_THAT(d_mod_k(t, 0, to), ElementsAre(Step{0, static_cast<std::uint16_t>(4 + to % 4)},
                                               Step{8 + to % 4, static_cast<std::uint16_t>(to / 4)},
                                               Step{to / 4, static_cast<std::uint16_t>(to % 4)}));
  }
}

TEST(d_mod_k, comes_down_by_the_parallel_cable_that_it_would_have_gone_up_by) {
  // 8 leaves, each with two cables to each of 4 spines: up by 8 + d mod 8, so to spine d mod 8 / 2.
  const Topology t = topology_of("fat-tree:64,levels=2,radix=16,cables=2");
  EXPECT_EQ(t.switches(), 8u + 4u);
  for (std::uint32_t to = 8; to < 64; ++to) {
    const std::uint32_t digit = to % 8;
    EXPECT_THAT(d_mod_k(t, 0, to),
                ElementsAre(Step{0, static_cast<std::uint16_t>(8 + digit)},
                            Step{8 + digit / 2, static_cast<std::uint16_t>(to / 8 * 2 + digit % 2)},
                            Step{to / 8, static_cast<std::uint16_t>(to % 8)}));
  }
}

TEST(d_mod_k, gives_each_cable_the_same_number_of_destinations) {
  const Topology t = topology_of("fat-tree:128,levels=3,radix=8");
  std::map<std::pair<std::uint32_t, std::uint16_t>, int> up, top;
  for (std::uint32_t to = 16; to < 128; ++to) {
    const auto steps = d_mod_k(t, 0, to);
    ++up[{steps.at(0).at, steps.at(0).port}];
    ++top[{steps.at(1).at, steps.at(1).port}];
  }
  EXPECT_EQ(up.size(), 4u);
  EXPECT_EQ(top.size(), 16u);
  for (const auto& [port, count] : up) EXPECT_EQ(count, 28);
  for (const auto& [port, count] : top) EXPECT_EQ(count, 7);
}

TEST(tree_ecmp, keeps_a_flow_on_its_path_and_spreads_flows) {
  const Topology t = topology_of("fat-tree:1024");
  const auto router = router_of("ecmp", t);
  Rng rng(1);
  std::map<std::pair<std::uint16_t, std::uint16_t>, int> paths;
  for (std::uint64_t flow = 0; flow < 6400; ++flow) {
    const auto steps = walk(t, *router, 0, 1023, flow, rng);
    EXPECT_EQ(steps, walk(t, *router, 0, 1023, flow, rng, 64, true));
    ++paths[{steps.at(0).port, steps.at(1).port}];
  }
  EXPECT_EQ(paths.size(), 64u);
  for (const auto& [path, count] : paths) EXPECT_NEAR(count, 100, 45);
}

/// Returns how often each port up of leaf 0 is taken when so much is queued at them.
std::vector<int> adaptive_choices(const std::vector<std::uint32_t>& queued_up, int draws) {
  const Topology t = topology_of("fat-tree:1024");
  const auto router = router_of("adaptive", t);
  std::vector<std::uint32_t> queued(16, 0);
  std::copy(queued_up.begin(), queued_up.end(), queued.begin() + 8);
  Rng rng(7);
  std::vector<int> taken(8);
  for (int i = 0; i < draws; ++i) {
    RouteState state;
    router->start(state, 0, 1023, 0, rng);
    const Hop hop = router->next(t.switch_at(0), PortNumber(0), state, PortLoad(queued), rng);
    ++taken.at(hop.port.value() - 8u);
  }
  return taken;
}

TEST(tree_adaptive, takes_the_least_queued_port) {
  EXPECT_THAT(adaptive_choices({9, 8, 7, 6, 5, 6, 7, 8}, 10), ElementsAre(0, 0, 0, 0, 10, 0, 0, 0));
}

TEST(tree_adaptive, sees_the_packet_that_is_on_the_wire) {
  const Topology t = topology_of("fat-tree:1024");
  const auto router = router_of("adaptive", t);
  const PicoInstant now(1'000'000);
  const std::vector<std::uint32_t> queued(16, 0);
  const std::vector<Bandwidth> rates(16, Bandwidth::bytes_per_second(1'000'000'000));
  // All links but the one at port 13 have 500 bytes of a packet to send.
  std::vector<PicoInstant> free_at(16, now + PicoDuration::nanoseconds(500));
  free_at[13] = now - PicoDuration::nanoseconds(1);
  const PortLoad load({queued.data(), sizeof queued[0]}, {free_at.data(), sizeof free_at[0]},
                      {rates.data(), sizeof rates[0]}, now, 4096);
  EXPECT_EQ(load.ahead(PortNumber(8)), 500u);
  EXPECT_EQ(load.ahead(PortNumber(13)), 0u);
  Rng rng(7);
  for (int i = 0; i < 50; ++i) {
    RouteState state;
    router->start(state, 0, 1023, 0, rng);
    EXPECT_EQ(router->next(t.switch_at(0), PortNumber(0), state, load, rng).port, PortNumber(13));
  }
}

TEST(tree_adaptive, breaks_ties_without_bias) {
  // Chi-square with 7 and 2 degrees of freedom: 24.3 and 13.8 are exceeded once in a thousand.
  double chi_square = 0;
  for (const int count : adaptive_choices({5, 5, 5, 5, 5, 5, 5, 5}, 80'000)) {
    chi_square += (count - 10'000.0) * (count - 10'000.0) / 10'000.0;
  }
  EXPECT_LT(chi_square, 24.3);
  const auto some = adaptive_choices({5, 2, 3, 2, 4, 5, 2, 9}, 30'000);
  EXPECT_EQ(some[1] + some[3] + some[6], 30'000);
  chi_square = 0;
  for (const int i : {1, 3, 6}) {
    chi_square += (some[i] - 10'000.0) * (some[i] - 10'000.0) / 10'000.0;
  }
  EXPECT_LT(chi_square, 13.8);
}

}  // namespace
}  // namespace weft::sim
