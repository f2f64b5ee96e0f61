// SPDX-License-Identifier: Apache-2.0
// Properties that all routers have in common.
#include "sim/routing/routers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "sim/routing/test_walk.hpp"
#include "sim/topology/topology_file.hpp"

namespace weft::sim {
namespace {

using testing::HasSubstr;

/// The most switches on a way, with detours where the router takes them.
std::size_t bound(const Topology& t, std::string_view router) {
  if (const auto* tree = std::get_if<FatTreeShape>(&t.shape())) return 2 * tree->levels - 1;
  if (const auto* torus = std::get_if<TorusShape>(&t.shape())) {
    std::size_t hops = 0;
    for (const std::uint32_t size : torus->sizes) hops += size / 2;
    return hops + 1;
  }
  if (const auto* fly = std::get_if<DragonflyShape>(&t.shape())) {
    const std::size_t within = (fly->slots > 1 ? 1 : 0) + (fly->chassis > 1 ? 1 : 0);
    return 1 + (router == "minimal" ? 2 * within + 1 : 3 * within + 2);
  }
  return t.switches();
}

class Reach : public testing::TestWithParam<const char*> {};

TEST_P(Reach, every_host_from_every_host_within_the_bound_by_every_router) {
  const Topology t = topology_of(GetParam());
  const std::uint64_t seed = 11;
  Rng rng(seed);
  for (const std::string_view name : router_names(t)) {
    SCOPED_TRACE(fmt::format("{} on {}, seed {}", name, t.name(), seed));
    const auto router = router_of(name, t);
    EXPECT_EQ(router->name(), name);
    for (std::uint32_t from = 0; from < t.hosts(); ++from) {
      for (std::uint32_t to = 0; to < t.hosts(); ++to) {
        if (from == to) continue;
        const auto steps =
            walk(t, *router, from, to, from + to, rng, bound(t, name), from % 2 == 0);
        if (testing::Test::HasFailure()) return;
        ASSERT_GE(steps.size(), 1u);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    routers, Reach,
    testing::Values("star:5", "fat-tree:1", "fat-tree:32,levels=2,radix=8",
                    "fat-tree:19,levels=2,radix=8", "fat-tree:64,levels=2,radix=12",
                    "fat-tree:54,levels=3,radix=6", "fat-tree:100,levels=3,radix=8",
                    "fat-tree:150,levels=3,radix=12,taper=3", "fat-tree:101,taper=3:2",
                    "fat-tree:30,levels=2,radix=12,cables=2",
                    "fat-tree:64,levels=3,radix=8,cables=2", "dragonfly:72", "dragonfly:50",
                    "dragonfly:9,groups=3", "dragonfly:40,groups=2,routers=5",
                    "dragonfly:6,groups=6,routers=1", "dragonfly:100,shape=xc40",
                    "dragonfly:90,shape=xc40,groups=3,routers=30",
                    "dragonfly:120,shape=xc40,groups=5,routers=48,global=1", "torus:7",
                    "torus:2x3x4", "torus:5x4,hosts=3", "torus:1x1x6", "torus:2x2x2x2"));

TEST(router_choices, hold_each_hop_that_is_taken_or_foreseen) {
  for (const char* text :
       {"fat-tree:54,levels=3,radix=6", "dragonfly:72", "dragonfly:100,shape=xc40", "torus:4x5"}) {
    const Topology t = topology_of(text);
    Rng rng(13);
    for (const std::string_view name : router_names(t)) {
      const auto router = router_of(name, t);
      std::vector<Router::Choice> choices;
      for (int i = 0; i < 2000; ++i) {
        const auto from = static_cast<std::uint32_t>(rng.below(t.hosts()));
        const auto to = static_cast<std::uint32_t>(rng.below(t.hosts()));
        RouteState state;
        router->start(state, from, to, 0, rng);
        PortRef at = t.peer(t.link({t.host(from), PortNumber(0)}));
        std::vector<std::uint32_t> queued(t.ports(at.vertex));
        for (std::uint32_t& bytes : queued) bytes = static_cast<std::uint32_t>(rng.below(3));
        choices.clear();
        router->choices(at.vertex, at.port, state, choices);
        const auto foreseen = router->foresee(at.vertex, state);
        const RouteState before = state;
        const Hop hop = router->next(at.vertex, at.port, state, PortLoad(queued), rng);
        EXPECT_EQ(foreseen.value_or(hop).port, hop.port) << name << " on " << text;
        EXPECT_EQ(foreseen.value_or(hop).channel, hop.channel) << name << " on " << text;
        const bool is_same = std::memcmp(&before, &state, sizeof state) == 0;
        EXPECT_TRUE(!foreseen || is_same) << name << " on " << text;
        const bool is_fixed = name == "d-mod-k" || name == "ecmp";
        EXPECT_TRUE(!is_fixed || foreseen.has_value()) << name << " on " << text;
        EXPECT_TRUE(std::any_of(choices.begin(), choices.end(),
                                [&](const Router::Choice& c) {
                                  return c.hop.port == hop.port && c.hop.channel == hop.channel &&
                                         c.after.phase == state.phase &&
                                         c.after.channel == state.channel;
                                }))
            << name << " on " << text;
      }
    }
  }
}

TEST(routers, refuse_topologies_that_they_do_not_fit_with_those_that_do) {
  const Topology t = topology_of("dragonfly:72");
  EXPECT_EQ(default_router(t), "ugal");
  for (const char* name : {"d-mod-k", "shortest", "fastest", ""}) {
    const auto router = make_router(name, t);
    ASSERT_FALSE(router) << name;
    EXPECT_THAT(router.error().message, HasSubstr(fmt::format("router '{}'", name)));
    EXPECT_THAT(router.error().message, HasSubstr("use ugal or minimal or valiant"));
  }
  EXPECT_EQ(default_router(topology_of("star:2")), "d-mod-k");
  EXPECT_EQ(default_router(topology_of("torus:2")), "dimension-order");
}

TEST(routers, of_16384_hosts_are_made_without_tables_of_hosts_times_switches) {
  for (const char* text :
       {"fat-tree:16384", "dragonfly:16384", "dragonfly:16384,shape=xc40", "torus:16x32x32"}) {
    const Topology t = topology_of(text);
    Rng rng(17);
    for (const std::string_view name : router_names(t)) {
      const auto router = router_of(name, t);
      for (std::uint32_t i = 0; i < 200; ++i) {
        const auto from = static_cast<std::uint32_t>(rng.below(t.hosts()));
        const auto to = static_cast<std::uint32_t>(rng.below(t.hosts()));
        if (from != to) walk(t, *router, from, to, i, rng, bound(t, name));
      }
    }
  }
}

}  // namespace
}  // namespace weft::sim
