// SPDX-License-Identifier: Apache-2.0
#include "sim/routing/deadlock.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/routing/test_walk.hpp"
#include "sim/topology/topology_file.hpp"

namespace weft::sim {
namespace {

using testing::HasSubstr;

class BuiltTopology : public testing::TestWithParam<const char*> {};

TEST_P(BuiltTopology, has_no_cycle_with_any_of_its_routers) {
  const Topology t = topology_of(GetParam());
  for (const std::string_view name : router_names(t)) {
    const auto router = router_of(name, t);
    const DeadlockCheck check = check_deadlock(t, *router);
    EXPECT_TRUE(check.free()) << name << ": " << check.describe(t);
    EXPECT_EQ(check.destinations, t.hosts());
    EXPECT_GE(check.dependencies, t.switches() > 1 ? t.hosts() : 1);
  }
}

INSTANTIATE_TEST_SUITE_P(
    deadlock, BuiltTopology,
    testing::Values("star:8", "fat-tree:32,levels=2,radix=8", "fat-tree:19,levels=2,radix=8",
                    "fat-tree:128,levels=3,radix=8", "fat-tree:70,levels=3,radix=8,taper=3",
                    "dragonfly:72", "dragonfly:72,groups=3", "dragonfly:50",
                    "dragonfly:40,groups=2,routers=5", "dragonfly:64,shape=xc40",
                    "dragonfly:96,shape=xc40,groups=3,routers=32,global=1",
                    "dragonfly:60,shape=xc40,groups=5,routers=18,global=2", "torus:4", "torus:5",
                    "torus:8", "torus:3x4x5", "torus:4x4,hosts=2", "torus:6x2x1x3"));

Topology ring(int size) {
  std::string hosts, switches, cables;
  for (int i = 0; i < size; ++i) {
    hosts += fmt::format("\"h{}\",", i);
    switches += fmt::format("\"s{}\",", i);
    cables += fmt::format("[\"h{0}\",\"s{0}\"],[\"s{0}\",\"s{1}\"],", i, (i + 1) % size);
  }
  auto t = parse_topology_file(
      fmt::format("hosts=[{}]\nswitches=[{}]\ncables=[{}]", hosts, switches, cables), "ring");
  EXPECT_TRUE(t) << t.error().message;
  return std::move(t).value();
}

TEST(deadlock, names_the_cycle_of_a_ring_with_shortest_paths) {
  const Topology t = ring(5);
  for (const char* name : {"shortest", "ecmp"}) {
    const DeadlockCheck check = check_deadlock(t, *router_of(name, t));
    ASSERT_EQ(check.cycle.size(), 5u) << name;
    // Ports of s0: its host, s1, s4; of the others: the one below, the host, the one above.
    const std::string text = check.describe(t);
    EXPECT_TRUE(text.find("s0 port 1 -> s1, class 0") != std::string::npos ||
                text.find("s1 port 0 -> s0, class 0") != std::string::npos)
        << text;
    for (std::size_t i = 0; i < 5; ++i) {
      EXPECT_EQ(t.peer(check.cycle[i].link).vertex, t.port(check.cycle[(i + 1) % 5].link).vertex);
    }
  }
}

TEST(deadlock, has_no_cycle_in_a_ring_with_updown) {
  for (const int size : {3, 4, 5, 8, 13}) {
    const Topology t = ring(size);
    const DeadlockCheck check = check_deadlock(t, *router_of("updown", t));
    EXPECT_TRUE(check.free()) << size << ": " << check.describe(t);
  }
}

/// Random connected graphs.
Topology tangle(std::uint64_t seed) {
  Rng rng(seed);
  const auto switches = static_cast<std::uint32_t>(3 + rng.below(20));
  const auto hosts = static_cast<std::uint32_t>(1 + rng.below(2 * switches));
  auto t = std::move(Topology::make("tangle", hosts, switches)).value();
  for (std::uint32_t s = 1; s < switches; ++s) {
    const auto other = static_cast<std::uint32_t>(rng.below(s));
    t.connect(t.switch_at(s), t.switch_at(other), CableKind::local);
  }
  for (std::uint32_t i = 0; i < switches; ++i) {
    const auto a = static_cast<std::uint32_t>(rng.below(switches));
    const auto b = static_cast<std::uint32_t>(rng.below(switches));
    if (a != b) t.connect(t.switch_at(a), t.switch_at(b), CableKind::local);
  }
  for (std::uint32_t h = 0; h < hosts; ++h) {
    const auto s = static_cast<std::uint32_t>(rng.below(switches));
    t.connect(t.host(h), t.switch_at(s), CableKind::host);
  }
  EXPECT_TRUE(t.finish());
  return t;
}

TEST(deadlock, has_no_cycle_in_random_topologies_with_updown_and_all_arrive) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(fmt::format("tangle({})", seed));
    const Topology t = tangle(seed);
    EXPECT_TRUE(check_deadlock(t, *router_of("updown", t)).free());
    Rng rng(seed);
    for (const std::string_view name : router_names(t)) {
      const auto router = router_of(name, t);
      for (std::uint32_t to = 1; to < t.hosts(); ++to) {
        walk(t, *router, 0, to, seed, rng, t.switches());
      }
    }
  }
}

/// A router whose packets stay in class 0; the class that it wants is kept in the phase.
class WithoutClasses final : public Router {
 public:
  explicit WithoutClasses(const Router& router) : router_(router) {}
  std::string_view name() const override { return "without-classes"; }
  std::uint8_t channels() const override { return 1; }
  void start(RouteState&, std::uint32_t, std::uint32_t, std::uint64_t, Rng&) const override {}
  Hop next(Vertex, PortNumber, RouteState&, const PortLoad&, Rng&) const override { return {}; }
  void choices(Vertex at, PortNumber in, const RouteState& state,
               std::vector<Choice>& out) const override {
    RouteState real = state;
    real.channel = state.phase >> 4;
    real.phase = state.phase & 15;
    const std::size_t before = out.size();
    router_.choices(at, in, real, out);
    for (std::size_t i = before; i < out.size(); ++i) {
      out[i].hop.channel = 0;
      out[i].after.phase |= static_cast<std::uint8_t>(out[i].after.channel << 4);
      out[i].after.channel = 0;
    }
  }
  void starts(std::uint32_t source, std::uint32_t destination,
              std::vector<RouteState>& out) const override {
    router_.starts(source, destination, out);
  }

 private:
  const Router& router_;
};

TEST(deadlock, finds_the_cycles_that_dragonflies_and_tori_would_have_without_classes) {
  for (const char* text : {"dragonfly:72", "dragonfly:96,shape=xc40,groups=3,routers=32,global=1",
                           "torus:4x4", "torus:5"}) {
    const Topology t = topology_of(text);
    for (const std::string_view name : router_names(t)) {
      const auto router = router_of(name, t);
      const DeadlockCheck check = check_deadlock(t, WithoutClasses(*router));
      EXPECT_FALSE(check.free()) << name << " on " << text;
      EXPECT_THAT(check.describe(t), HasSubstr("class 0"));
    }
  }
}

TEST(deadlock, samples_destinations_evenly_when_there_are_too_many) {
  const Topology t = topology_of("fat-tree:1024");
  const auto router = router_of("d-mod-k", t);
  const DeadlockCheck check = check_deadlock(t, *router, {.most_pairs = 128 * 64});
  EXPECT_EQ(check.destinations, 64u);
  EXPECT_TRUE(check.free());
}

TEST(deadlock, a_bound_of_steps_samples_destinations_all_over_and_still_finds_the_cycle) {
  const Topology t = topology_of("dragonfly:72");
  const auto router = router_of("ugal", t);
  const DeadlockCheck all = check_deadlock(t, *router);
  const DeadlockCheck some = check_deadlock(t, *router, {.most_steps = 10'000});
  EXPECT_TRUE(some.free());
  EXPECT_EQ(all.destinations, 72u);
  EXPECT_GT(some.destinations, 0u);
  EXPECT_LT(some.destinations, 72u);
  EXPECT_FALSE(check_deadlock(t, WithoutClasses(*router), {.most_steps = 10'000}).free());
}

}  // namespace
}  // namespace weft::sim
