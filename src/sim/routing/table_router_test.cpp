// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "sim/routing/test_walk.hpp"
#include "sim/topology/topology_file.hpp"

namespace weft::sim {
namespace {

using testing::ElementsAre;

/// Two leaves below two spines, two hosts on each leaf.
Topology two_by_two() {
  auto t = parse_topology_file(R"(hosts = ["a", "b", "c", "d"]
switches = ["left", "right", "one", "two"]
cables = [["a", "left"], ["b", "left"], ["c", "right"], ["d", "right"],
          ["left", "one"], ["left", "two"], ["right", "one"], ["right", "two"]])",
                               "net");
  return std::move(t).value();
}

std::vector<Step> route(const Topology& t, std::string_view name, std::uint32_t from,
                        std::uint32_t to, std::uint64_t flow = 0) {
  Rng rng(1);
  return walk(t, *router_of(name, t), from, to, flow, rng);
}

TEST(shortest, spreads_destinations_over_equal_ports_by_their_number) {
  const Topology t = two_by_two();
  EXPECT_THAT(route(t, "shortest", 0, 2), ElementsAre(Step{0, 2}, Step{2, 1}, Step{1, 0}));
  EXPECT_THAT(route(t, "shortest", 0, 3), ElementsAre(Step{0, 3}, Step{3, 1}, Step{1, 1}));
  EXPECT_THAT(route(t, "shortest", 0, 1), ElementsAre(Step{0, 1}));
}

TEST(table_ecmp, spreads_flows_over_equal_ports) {
  const Topology t = two_by_two();
  std::set<std::uint16_t> first;
  for (std::uint64_t flow = 0; flow < 20; ++flow)
    first.insert(route(t, "ecmp", 0, 2, flow)[0].port);
  EXPECT_THAT(first, ElementsAre(2, 3));
}

TEST(updown, never_goes_up_after_going_down) {
  // A ring of six: the root is s0 (all are equally central). From h2 to h4 the short way would go
  // down to s3, at distance 3, and up again.
  std::string text = "hosts = [";
  for (int i = 0; i < 6; ++i) text += fmt::format("\"h{}\", ", i);
  text += "]\nswitches = [";
  for (int i = 0; i < 6; ++i) text += fmt::format("\"s{}\", ", i);
  text += "]\ncables = [";
  for (int i = 0; i < 6; ++i) {
    text += fmt::format("[\"h{0}\", \"s{0}\"], [\"s{0}\", \"s{1}\"],\n", i, (i + 1) % 6);
  }
  const auto t = parse_topology_file(text + "]", "ring");
  ASSERT_TRUE(t) << t.error().message;
  const auto switches = [&](std::string_view name, std::uint32_t from, std::uint32_t to) {
    std::vector<std::uint32_t> at;
    for (const Step& step : route(*t, name, from, to)) at.push_back(step.at);
    return at;
  };
  EXPECT_THAT(switches("shortest", 2, 4), ElementsAre(2, 3, 4));
  EXPECT_THAT(switches("updown", 2, 4), ElementsAre(2, 1, 0, 5, 4));
  EXPECT_THAT(switches("updown", 2, 3), ElementsAre(2, 3));
  EXPECT_THAT(switches("updown", 5, 1), ElementsAre(5, 0, 1));
}

}  // namespace
}  // namespace weft::sim
