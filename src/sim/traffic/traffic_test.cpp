// SPDX-License-Identifier: Apache-2.0
#include "sim/traffic/traffic.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "sim/routing/routers.hpp"
#include "sim/topology/builders.hpp"

namespace weft::sim {
namespace {

struct Outcome {
  std::uint64_t sent, delivered, hash;
  bool at_rest;
  double throughput;
  bool operator==(const Outcome&) const = default;
};

Outcome run(std::string_view topology_text, const TrafficOptions& traffic_options) {
  const auto topology = make_topology(topology_text);
  const auto router = make_router(default_router(*topology), *topology);
  NetworkOptions like;
  like.levels = {{}, {}};
  Engine engine(topology->vertices());
  Agents agents(engine);
  Network network(*topology, **router, like, engine, traffic_options.seed);
  std::vector<std::uint32_t> hosts(topology->hosts());
  std::iota(hosts.begin(), hosts.end(), 0);
  Traffic traffic(traffic_options, hosts, network, agents);
  engine.run_until(PicoInstant() + PicoDuration::milliseconds(10));
  const double seconds = (traffic_options.end - traffic_options.start).to_seconds();
  return {traffic.sent(), traffic.delivered(), engine.trace_hash(), network.at_rest(),
          static_cast<double>(traffic.delivered_bytes()) / seconds / topology->hosts()};
}

constexpr PicoInstant after(std::int64_t us) {
  return PicoInstant() + PicoDuration::microseconds(us);
}

TEST(traffic, every_message_of_every_pattern_arrives_and_all_buffers_are_whole_again) {
  for (const char* topology : {"star:8", "fat-tree:32", "dragonfly:72", "torus:4x4"}) {
    for (const auto pattern : {TrafficPattern::uniform, TrafficPattern::permutation,
                               TrafficPattern::incast, TrafficPattern::bursts}) {
      const Outcome o = run(topology, {.pattern = pattern, .load = 0.3, .end = after(50)});
      EXPECT_GT(o.sent, 10u) << topology;
      EXPECT_EQ(o.sent, o.delivered) << topology;
      EXPECT_TRUE(o.at_rest) << topology;
    }
  }
}

TEST(traffic, the_same_seed_gives_the_same_trace_and_another_seed_another) {
  const TrafficOptions options{.load = 0.7, .end = after(50)};
  TrafficOptions other = options;
  other.seed = 2;
  EXPECT_EQ(run("fat-tree:32", options), run("fat-tree:32", options));
  EXPECT_NE(run("fat-tree:32", options).hash, run("fat-tree:32", other).hash);
}

TEST(traffic, uniform_load_below_saturation_is_delivered_at_the_offered_rate) {
  const Outcome o = run("fat-tree:64", {.load = 0.7, .end = after(400)});
  EXPECT_NEAR(o.throughput, 0.7 * 12.5e9, 0.03 * 12.5e9);
}

TEST(traffic, what_cannot_be_offered_is_refused) {
  EXPECT_FALSE(Traffic::check({}, 1).ok());
  EXPECT_FALSE(Traffic::check({.load = 0}, 4).ok());
  EXPECT_FALSE(Traffic::check({.load = -1}, 4).ok());
  EXPECT_FALSE(Traffic::check({.message_bytes = 0}, 4).ok());
  EXPECT_THAT(parse_pattern("storm").error().message, testing::HasSubstr("uniform"));
}

}  // namespace
}  // namespace weft::sim
