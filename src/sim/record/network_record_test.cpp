// SPDX-License-Identifier: Apache-2.0
#include "sim/record/network_record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/traffic_run/traffic_run.hpp"

namespace weft::sim {
namespace {

using testing::ElementsAre;

NetworkRecording record(const std::string& topology, TrafficPattern pattern) {
  Scenario scenario;
  scenario.topology = topology;
  scenario.duration = Duration::microseconds(20);
  scenario.traffic = {{.pattern = pattern}};
  AloneExchange alone;
  NetworkRecording r;
  const auto outcome = run_traffic(scenario, alone, &r);
  EXPECT_TRUE(outcome.ok());
  const auto plain = run_traffic(scenario);
  EXPECT_TRUE(plain.ok());
  EXPECT_EQ(plain->trace_hash, outcome->trace_hash);
  EXPECT_EQ(plain->events, outcome->events);
  EXPECT_EQ(r.run.messages.size(), 1u);
  if (!r.run.messages.empty()) {
    EXPECT_EQ(r.run.messages[0].messages, outcome->all.delivered);
  }
  return r;
}

TEST(network_record, traffics_of_one_pattern_have_numbers) {
  using Pattern = TrafficPattern;
  const std::vector<Pattern> patterns{Pattern::uniform, Pattern::incast, Pattern::uniform};
  EXPECT_THAT(names_of(patterns), ElementsAre("uniform 1", "incast", "uniform 2"));
}

TEST(network_record, says_where_everything_stands_in_a_fat_tree) {
  const NetworkRecording r = record("fat-tree:128,levels=3,radix=8", TrafficPattern::uniform);
  EXPECT_EQ(r.topology.shape, "fat-tree");
  std::vector<std::uint32_t> levels;
  for (const auto& v : r.topology.vertices) {
    EXPECT_EQ(v.host, v.level == 0);
    EXPECT_EQ(v.group.has_value(), v.level < 3) << v.name;
    levels.push_back(v.level);
  }
  EXPECT_EQ(std::count(levels.begin(), levels.end(), 0u), 128);
  EXPECT_GT(std::count(levels.begin(), levels.end(), 3u), 0);
  for (const auto& link : r.topology.links) {
    // Every switch below the top stands in the pod of the vertices below it.
    const auto& from = r.topology.vertices[link.from];
    const auto& to = r.topology.vertices[link.to];
    if (from.group && to.group) {
      EXPECT_EQ(from.group, to.group) << from.name << " " << to.name;
    }
  }
  EXPECT_EQ(r.run.series.size(), report::most_link_series);
  EXPECT_EQ(r.run.links.size(), r.topology.links.size());
}

TEST(network_record, says_where_everything_stands_in_a_dragonfly) {
  const NetworkRecording r = record("dragonfly:72", TrafficPattern::uniform);
  EXPECT_EQ(r.topology.shape, "dragonfly");
  for (const auto& link : r.topology.links) {
    const bool same = r.topology.vertices[link.from].group == r.topology.vertices[link.to].group;
    EXPECT_EQ(same, link.kind != "global");
  }
}

TEST(network_record, says_the_groups_of_hosts_in_a_dragonfly_whose_routers_are_not_full) {
  // 100 hosts in 6 groups of 6 routers with 3 places each: 17 in a group, or 16.
  const NetworkRecording r = record("dragonfly:100", TrafficPattern::uniform);
  EXPECT_EQ(r.topology.vertices[16].group, 0u);
  EXPECT_EQ(r.topology.vertices[17].group, 1u);
  EXPECT_EQ(r.topology.vertices[99].group, 5u);
  for (const auto& link : r.topology.links) {
    const bool same = r.topology.vertices[link.from].group == r.topology.vertices[link.to].group;
    EXPECT_EQ(same, link.kind != "global");
  }
}

TEST(network_record, says_where_everything_stands_in_a_torus) {
  const NetworkRecording r = record("torus:4x3", TrafficPattern::uniform);
  EXPECT_EQ(r.topology.shape, "torus");
  EXPECT_THAT(r.topology.vertices.back().position, ElementsAre(3, 2));
}

TEST(network_record, incast_fills_the_one_link_and_its_queue) {
  const NetworkRecording r = record("star:8", TrafficPattern::incast);
  EXPECT_EQ(r.topology.shape, "star");
  const auto busiest =
      std::max_element(r.run.links.begin(), r.run.links.end(),
                       [](const auto& a, const auto& b) { return a.utilisation < b.utilisation; });
  const auto link = static_cast<std::size_t>(busiest - r.run.links.begin());
  EXPECT_EQ(r.topology.links[link].to, 0u);
  EXPECT_GT(busiest->utilisation, 0.9);
  EXPECT_GT(busiest->queue_mean_bytes, 1000);
  EXPECT_GE(static_cast<double>(busiest->queue_peak_bytes), busiest->queue_mean_bytes);
  const auto& m = r.run.messages[0];
  EXPECT_LE(m.latency_us.min, m.latency_us.median);
  EXPECT_LE(m.latency_us.p99, m.latency_us.max);
  std::uint64_t counted = 0;
  for (const auto& bucket : m.buckets) counted += bucket.count;
  EXPECT_EQ(counted, m.messages);
  ASSERT_EQ(m.sizes.size(), 1u);
  EXPECT_EQ(m.sizes[0].from_bytes, 4096u);
}

}  // namespace
}  // namespace weft::sim
