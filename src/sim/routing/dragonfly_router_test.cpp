// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "sim/routing/test_walk.hpp"

namespace weft::sim {
namespace {

// 9 groups of 4 routers; ports: 2 hosts, 3 within the group, 2 global.
constexpr std::string_view textbook = "dragonfly:72,groups=9,routers=4,hosts=2,global=2";

std::set<std::uint32_t> groups_on(const std::vector<Step>& steps, std::uint32_t group_size) {
  std::set<std::uint32_t> groups;
  for (const Step& step : steps) groups.insert(step.at / group_size);
  return groups;
}

TEST(minimal, crosses_one_global_cable_and_rises_by_one_class) {
  const Topology t = topology_of(textbook);
  const auto router = router_of("minimal", t);
  EXPECT_EQ(router->channels(), 2);
  Rng rng(1);
  // Router 0 of group 0 has the cables to groups 1 and 2; group 4's to 0 is number 4 of its 8.
  const auto direct = walk(t, *router, 0, 8, 0, rng);
  EXPECT_EQ(direct.front(), (Step{0, 5, 0}));
  EXPECT_EQ(groups_on(direct, 4).size(), 2u);
  const auto far = walk(t, *router, 0, 8 * 4, 0, rng);
  ASSERT_GE(far.size(), 3u);
  EXPECT_EQ(far.at(0), (Step{0, 2, 0}));  // to router 1, which has those to 3 and 4
  EXPECT_EQ(far.at(1), (Step{1, 6, 0}));
  EXPECT_EQ(far.at(2).at, 4u * 4 + 2);
  EXPECT_EQ(far.at(2).channel, 1);
}

TEST(minimal, keeps_a_flow_on_its_path_and_spreads_flows_over_parallel_cables) {
  const Topology t = topology_of("dragonfly:384,shape=xc40");
  const auto router = router_of("minimal", t);
  Rng rng(1);
  std::set<std::uint16_t> first;
  for (std::uint64_t flow = 0; flow < 100; ++flow) {
    const auto steps = walk(t, *router, 0, 383, flow, rng);
    EXPECT_EQ(steps, walk(t, *router, 0, 383, flow, rng, 64, true));
    first.insert(steps.front().port);
  }
  // Router 0 of 24 has 3 or 4 of the 80 cables to the last group itself.
  EXPECT_GE(first.size(), 3u);
}

TEST(minimal, goes_within_the_chassis_before_it_goes_across) {
  const Topology t = topology_of("dragonfly:384,shape=xc40");
  const auto router = router_of("minimal", t);
  Rng rng(1);
  // Chassis of 12: router 0 is (0,0), router 23 is (1,11): by way of (0,11).
  const auto steps = walk(t, *router, 0, 95, 0, rng);
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps.at(1).at, 11u);
  EXPECT_EQ(steps.at(2).at, 23u);
}

TEST(valiant, goes_by_way_of_any_third_group_evenly) {
  const Topology t = topology_of(textbook);
  const auto router = router_of("valiant", t);
  EXPECT_EQ(router->channels(), 3);
  Rng rng(5);
  std::map<std::uint32_t, int> by;
  for (int i = 0; i < 7000; ++i) {
    auto groups = groups_on(walk(t, *router, 0, 71, 0, rng), 4);
    ASSERT_EQ(groups.size(), 3u);
    groups.erase(0);
    groups.erase(8);
    ++by[*groups.begin()];
  }
  EXPECT_EQ(by.size(), 7u);
  for (const auto& [group, count] : by) EXPECT_NEAR(count, 1000, 150) << group;
}

TEST(valiant, goes_by_way_of_a_third_router_within_a_group) {
  const Topology t = topology_of(textbook);
  const auto router = router_of("valiant", t);
  Rng rng(5);
  std::set<std::uint32_t> by;
  for (int i = 0; i < 100; ++i) {
    const auto steps = walk(t, *router, 0, 7, 0, rng);  // router 0 to router 3
    ASSERT_EQ(steps.size(), 3u);
    EXPECT_EQ(steps.at(0).channel, 0);
    EXPECT_EQ(steps.at(1).channel, 1);
    by.insert(steps.at(1).at);
  }
  EXPECT_EQ(by, (std::set<std::uint32_t>{1, 2}));
}

/// Returns how many of 1000 packets from host 0 to `to` leave router 0 by the port.
int leave_by(std::uint16_t port, std::uint32_t to, const std::vector<std::uint32_t>& queued) {
  const Topology t = topology_of(textbook);
  const auto router = router_of("ugal", t);
  Rng rng(9);
  int count = 0;
  for (int i = 0; i < 1000; ++i) {
    RouteState state;
    router->start(state, 0, to, 0, rng);
    const Hop hop = router->next(t.switch_at(0), PortNumber(0), state, PortLoad(queued), rng);
    count += hop.port.value() == port ? 1 : 0;
  }
  return count;
}

TEST(ugal, goes_the_minimal_way_while_nothing_waits) {
  EXPECT_EQ(leave_by(5, 8, {0, 0, 0, 0, 0, 0, 0}), 1000);
  EXPECT_EQ(leave_by(5, 8, {0, 0, 90, 90, 90, 90, 90}), 1000);
}

TEST(ugal, takes_the_detour_when_the_minimal_port_is_full) {
  // Group 1 is behind port 5. No detour begins there.
  EXPECT_EQ(leave_by(5, 8, {0, 0, 0, 0, 0, 65'536, 0}), 0);
}

TEST(ugal, weighs_queues_by_hops) {
  // The minimal way to group 1 has 2 hops. Of the 7 detours, that by group 2 (port 6) has 4 and the
  // others (by another router first) have 5: 250 · 2 is more than 100 · 4, not more than 100 · 5.
  const std::vector<std::uint32_t> queued{0, 0, 100, 100, 100, 250, 100};
  EXPECT_NEAR(leave_by(6, 8, queued), 1000.0 / 7, 40);
  EXPECT_EQ(leave_by(5, 8, queued) + leave_by(6, 8, queued), 1000);
}

TEST(ugal, goes_the_minimal_way_to_a_host_of_the_same_router) {
  EXPECT_EQ(leave_by(1, 1, {0, 65'536, 0, 0, 0, 0, 0}), 1000);
}

}  // namespace
}  // namespace weft::sim
