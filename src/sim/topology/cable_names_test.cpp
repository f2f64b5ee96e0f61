// SPDX-License-Identifier: Apache-2.0
#include "sim/topology/cable_names.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/topology/builders.hpp"

namespace weft::sim {
namespace {

using testing::HasSubstr;

TEST(cable_names, a_hosts_name_is_its_cable_both_ways) {
  const Topology star = *make_topology("star:4");
  const auto links = CableNames(star).find("host2");
  ASSERT_TRUE(links.ok()) << links.error().message;
  ASSERT_EQ(links->size(), 2u);
  EXPECT_EQ(star.port((*links)[0]).vertex, star.host(2));
  EXPECT_EQ(star.port((*links)[1]).vertex, star.switch_at(0));
  EXPECT_EQ(star.peer((*links)[1]).vertex, star.host(2));
}

TEST(cable_names, two_names_are_all_cables_between_them) {
  const Topology tree = *make_topology("fat-tree:32,levels=2,radix=16");
  const Vertex leaf = tree.switch_at(0), top = tree.switch_at(tree.switches() - 1);
  std::size_t expected = 0;
  for (const Cable& cable : tree.cables()) {
    expected += (cable.a.vertex == leaf && cable.b.vertex == top) ||
                (cable.b.vertex == leaf && cable.a.vertex == top);
  }
  ASSERT_GT(expected, 0u);
  CableNames names(tree);
  const std::string top_name = "switch" + std::to_string(tree.switches() - 1);
  const auto there = names.find("switch0--" + top_name);
  ASSERT_TRUE(there.ok()) << there.error().message;
  EXPECT_EQ(there->size(), 2 * expected);
  EXPECT_EQ(names.find(top_name + "--switch0")->size(), 2 * expected);
}

TEST(cable_names, what_is_not_there_is_refused_with_what_is) {
  const Topology tree = *make_topology("fat-tree:32,levels=2,radix=16");
  CableNames names(tree);
  EXPECT_THAT(names.find("host32").error().message, HasSubstr("host0 to host31"));
  EXPECT_THAT(names.find("switch0--spine1").error().message, HasSubstr("no 'spine1'"));
  EXPECT_THAT(names.find("switch0--switch1").error().message, HasSubstr("no cable connects"));
  EXPECT_THAT(names.find("host0--host1").error().message, HasSubstr("connected to switch0"));
  for (const char* nothing : {"", "--", "host0--", "--host0", "host0--host1--host2"}) {
    EXPECT_FALSE(names.find(nothing).ok()) << nothing;
  }
}

}  // namespace
}  // namespace weft::sim
