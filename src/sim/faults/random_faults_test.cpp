// SPDX-License-Identifier: Apache-2.0
#include "sim/faults/random_faults.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace weft::sim {
namespace {

using Kind = faults::Fault::Kind;

Scenario troubled() {
  Scenario s;
  s.random_faults = {.links_down_per_s = 20,
                     .links_slow_per_s = 20,
                     .pauses_per_s = 20,
                     .crashes_per_s = 20,
                     .mean_length = Duration::milliseconds(2),
                     .until = Duration::seconds(1)};
  return s;
}

TEST(random_faults, none_are_drawn_without_rates_or_time) {
  EXPECT_TRUE(draw_random_faults(Scenario(), 4, 4).empty());
  Scenario scenario = troubled();
  scenario.random_faults.until = Duration{};
  EXPECT_TRUE(draw_random_faults(scenario, 4, 4).empty());
}

TEST(random_faults, come_as_often_as_said_and_in_order) {
  const auto faults = draw_random_faults(troubled(), 8, 8);
  std::map<Kind, std::size_t> count;
  for (const auto& f : faults) ++count[f.kind];
  // 16 nodes, 20 per second each, less those that fall into other faults.
  for (const Kind kind : {Kind::link_down, Kind::slow, Kind::stop, Kind::kill}) {
    EXPECT_GT(count[kind], 180u);
    EXPECT_LT(count[kind], 360u);
  }
  EXPECT_EQ(count[Kind::kill], count[Kind::restart]);
  EXPECT_TRUE(std::is_sorted(faults.begin(), faults.end(),
                             [](const auto& a, const auto& b) { return a.at < b.at; }));
}

TEST(random_faults, of_one_node_never_overlap) {
  std::map<std::uint32_t, Duration> free_from;
  for (const auto& f : draw_random_faults(troubled(), 8, 8)) {
    EXPECT_GE(f.at, free_from[f.host]);
    free_from[f.host] = f.at + f.lasts;
  }
}

TEST(random_faults, spare_one_node_of_each_kind_from_crashes) {
  for (const auto& f : draw_random_faults(troubled(), 3, 5)) {
    EXPECT_FALSE(f.kind == Kind::kill && (f.host == 0 || f.host == 3));
  }
}

TEST(random_faults, depend_on_the_seed_alone) {
  Scenario scenario = troubled();
  const auto once = draw_random_faults(scenario, 4, 4);
  const auto again = draw_random_faults(scenario, 4, 4);
  ASSERT_EQ(once.size(), again.size());
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_EQ(once[i].at, again[i].at);
  scenario.seed = 2;
  EXPECT_NE(draw_random_faults(scenario, 4, 4)[0].at, once[0].at);
}

TEST(random_faults, are_bounded_in_number) {
  Scenario scenario = troubled();
  scenario.random_faults.pauses_per_s = 1e6;
  scenario.random_faults.mean_length = Duration{};
  scenario.random_faults.until = Duration::seconds(86'400);
  EXPECT_LE(draw_random_faults(scenario, 4, 4).size(), most_random_faults);
}

}  // namespace
}  // namespace weft::sim
