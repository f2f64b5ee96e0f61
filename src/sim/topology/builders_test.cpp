// SPDX-License-Identifier: Apache-2.0
#include "sim/topology/builders.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace weft::sim {
namespace {

using testing::HasSubstr;

Topology made(std::string_view text) {
  auto topology = make_topology(text);
  EXPECT_TRUE(topology) << topology.error().message;
  return std::move(topology).value();
}

std::string refusal(std::string_view text) {
  const auto topology = make_topology(text);
  return topology ? "" : topology.error().message;
}

TEST(star, connects_all_hosts_to_one_switch) {
  const Topology t = made("star:64");
  EXPECT_EQ(t.switches(), 1u);
  EXPECT_EQ(t.cables().size(), 64u);
  EXPECT_EQ(t.ports(t.switch_at(0)), 64u);
}

TEST(fat_tree, has_the_switches_and_cables_of_a_hand_drawn_two_level_tree) {
  const Topology t = made("fat-tree:32,levels=2,radix=8");
  EXPECT_EQ(t.switches(), 8u + 4u);
  EXPECT_EQ(t.cables().size(), 32u + 32u);
  for (std::uint32_t s = 0; s < t.switches(); ++s) EXPECT_EQ(t.ports(t.switch_at(s)), 8u);
}

TEST(fat_tree, has_three_levels_of_radix_16_for_1024_hosts) {
  const Topology t = made("fat-tree:1024");
  EXPECT_EQ(t.name(), "fat-tree:1024,levels=3,radix=16,taper=1");
  EXPECT_EQ(t.switches(), 128u + 128u + 64u);
  EXPECT_EQ(t.cables().size(), 3u * 1024);
  for (std::uint32_t s = 0; s < t.switches(); ++s) EXPECT_EQ(t.ports(t.switch_at(s)), 16u);
}

TEST(fat_tree, chooses_two_levels_and_full_leaves_while_it_can) {
  EXPECT_EQ(made("fat-tree:64").name(), "fat-tree:64,levels=2,radix=16,taper=1");
  EXPECT_EQ(made("fat-tree:384").name(), "fat-tree:384,levels=2,radix=32,taper=1");
  EXPECT_EQ(made("fat-tree:101").name(), "fat-tree:101,levels=2,radix=16,taper=1");
  EXPECT_EQ(made("fat-tree:1000,radix=40").name(), "fat-tree:1000,levels=3,radix=40,taper=1");
}

TEST(fat_tree, leaves_unused_ports_out_when_hosts_do_not_fill_it) {
  const Topology t = made("fat-tree:18,levels=2,radix=8");
  EXPECT_EQ(t.switches(), 5u + 4u);
  EXPECT_EQ(t.ports(t.switch_at(3)), 8u);
  EXPECT_EQ(t.ports(t.switch_at(4)), 2u + 4u);
  EXPECT_EQ(t.ports(t.switch_at(5)), 5u);
  EXPECT_EQ(made("fat-tree:4,levels=2,radix=8").switches(), 1u);
  // One pod of three leaves needs no top level.
  const Topology pod = made("fat-tree:12,levels=3,radix=8");
  EXPECT_EQ(pod.switches(), 3u + 4u);
  EXPECT_EQ(pod.ports(pod.switch_at(3)), 3u);
}

TEST(fat_tree, fills_the_switches_of_the_highest_level_with_parallel_cables) {
  const Topology two = made("fat-tree:324,levels=2,radix=36,cables=2");
  EXPECT_EQ(two.name(), "fat-tree:324,levels=2,radix=36,taper=1,cables=2");
  EXPECT_EQ(two.switches(), 18u + 9u);
  EXPECT_EQ(two.ports(two.switch_at(18)), 36u);
  const Topology three = made("fat-tree:1296,levels=3,radix=36,cables=9");
  EXPECT_EQ(three.switches(), 72u + 72u + 36u);
  EXPECT_EQ(three.ports(three.switch_at(144)), 36u);
  EXPECT_THAT(refusal("fat-tree:64,levels=2,radix=16,cables=3"), HasSubstr("use cables=1 or"));
  EXPECT_THAT(refusal("fat-tree:64,levels=2,radix=16,cables=4"), HasSubstr("use cables=2 or"));
}

TEST(fat_tree, tapers_at_the_leaves) {
  const Topology t = made("fat-tree:1024,levels=3,radix=16,taper=2");
  // Leaves of 10 hosts and 5 cables up, 8 leaves to a pod: 103 leaves in 13 pods.
  EXPECT_EQ(t.switches(), 103u + 65u + 40u);
  EXPECT_EQ(t.cables().size(), 1024u + 103 * 5 + 65 * 8);
  EXPECT_EQ(t.ports(t.switch_at(0)), 15u);
  EXPECT_EQ(t.ports(t.switch_at(102)), 4u + 5u);
  EXPECT_EQ(t.ports(t.switch_at(103)), 16u);
  EXPECT_EQ(t.ports(t.switch_at(103 + 65)), 13u);
}

TEST(fat_tree, refuses_more_hosts_than_ports_with_what_would_hold_them) {
  EXPECT_THAT(refusal("fat-tree:200,levels=2,radix=16"),
              HasSubstr("200 hosts are more than the 128 that 2 levels of radix 16 with taper 1:1 "
                        "hold; use levels=3 or radix=20"));
  EXPECT_THAT(refusal("fat-tree:1025,levels=3,radix=16"), HasSubstr("use radix=18"));
  EXPECT_THAT(refusal("fat-tree:8,radix=7"), HasSubstr("even"));
  EXPECT_THAT(make_fat_tree({.hosts = 8, .levels = 4}).error().message,
              HasSubstr("levels is 2 or 3, not 4"));
}

TEST(fat_tree, of_16384_hosts_takes_some_tens_of_bytes_per_link) {
  const Topology t = made("fat-tree:16384");
  EXPECT_EQ(t.name(), "fat-tree:16384,levels=3,radix=64,taper=1");
  EXPECT_EQ(t.links(), 2u * 3 * 16384);
  // The link's own end, its far end, its kind; and half a cable.
  EXPECT_LE(2 * sizeof(PortRef) + sizeof(CableKind) + sizeof(Cable) / 2, 32u);
}

TEST(dragonfly, has_the_routers_and_cables_of_the_literature_s_example) {
  const Topology t = made("dragonfly:72,groups=9,routers=4,hosts=2,global=2");
  EXPECT_EQ(t.switches(), 36u);
  EXPECT_EQ(t.cables().size(), 72u + 9 * 6 + 36);
  for (std::uint32_t s = 0; s < 36; ++s) EXPECT_EQ(t.ports(t.switch_at(s)), 2u + 3 + 2);
  EXPECT_EQ(made("dragonfly:72").name(), t.name());
}

std::map<std::pair<std::uint32_t, std::uint32_t>, int> cables_between_groups(const Topology& t) {
  const auto& shape = std::get<DragonflyShape>(t.shape());
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> count;
  for (const Cable& cable : t.cables()) {
    if (cable.kind != CableKind::global) continue;
    const auto group = [&](const PortRef& end) {
      return t.switch_index(end.vertex) / shape.routers_per_group();
    };
    ++count[std::minmax(group(cable.a), group(cable.b))];
  }
  return count;
}

TEST(dragonfly, connects_each_two_groups_by_the_same_number_of_cables) {
  for (const auto& [text, groups, cables] : {std::tuple{"dragonfly:72", 9, 1},
                                             {"dragonfly:384", 12, 2},
                                             {"dragonfly:384,shape=xc40", 4, 80},
                                             {"dragonfly:40,groups=5,routers=4", 5, 2}}) {
    const Topology t = made(text);
    const auto count = cables_between_groups(t);
    EXPECT_EQ(count.size(), static_cast<std::size_t>(groups * (groups - 1) / 2)) << text;
    for (const auto& [pair, number] : count) {
      EXPECT_NE(pair.first, pair.second);
      EXPECT_EQ(number, cables) << text;
    }
  }
}

TEST(dragonfly, gives_no_router_more_global_links_than_it_has) {
  const Topology t = made("dragonfly:384");
  for (std::uint32_t s = 0; s < t.switches(); ++s) {
    int links = 0;
    for (std::uint16_t p = 0; p < t.ports(t.switch_at(s)); ++p) {
      links += t.kind(t.link({t.switch_at(s), PortNumber(p)})) == CableKind::global;
    }
    EXPECT_LE(links, 4);
    EXPECT_GE(links, 2);
  }
}

TEST(dragonfly, in_the_shape_of_an_xc40_has_chassis_of_16_and_groups_of_6) {
  const Topology t = made("dragonfly:1536,shape=xc40");
  EXPECT_EQ(t.switches(), 4u * 96);
  // Per group 6 chassis of 120 pairs, 15 pairs of chassis with 16 slots and 3 cables; 320 cables
  // for each of the 6 pairs of groups.
  EXPECT_EQ(t.cables().size(), 1536u + 4 * (6 * 120 + 15 * 16 * 3) + 6 * 320);
  EXPECT_EQ(t.ports(t.switch_at(0)), 4u + 15 + 5 * 3 + 10);
}

TEST(dragonfly, in_the_shape_of_an_xc40_spreads_384_hosts_over_four_groups) {
  const Topology t = made("dragonfly:384,shape=xc40");
  EXPECT_EQ(t.name(), "dragonfly:384,shape=xc40,groups=4,routers=24,hosts=4,global=10,black=3");
  EXPECT_EQ(t.cables().size(), 384u + 4 * (2 * 66 + 12 * 3) + 6 * 80);
  EXPECT_EQ(t.switch_index(t.edge(95)), 23u);
  EXPECT_EQ(t.switch_index(t.edge(96)), 24u);
}

TEST(dragonfly, refuses_what_does_not_fit_with_what_would) {
  EXPECT_THAT(refusal("dragonfly:73,groups=9,routers=4,hosts=2,global=2"),
              HasSubstr("73 hosts are more than its 72 ports for hosts; use groups=10"));
  EXPECT_THAT(refusal("dragonfly:80,groups=10,routers=4,hosts=2,global=2"),
              HasSubstr("8 global links of a group do not reach 9 other groups; use global=3"));
  EXPECT_THAT(refusal("dragonfly:400,shape=xc40,groups=1"), HasSubstr("at most 96 routers"));
  EXPECT_THAT(refusal("dragonfly:100,groups=60,routers=3000"), HasSubstr("cables are more than"));
}

TEST(torus, closes_each_dimension_and_has_one_cable_where_two_would_join_the_same_switches) {
  const Topology t = made("torus:4x3x2");
  EXPECT_EQ(t.hosts(), 24u);
  EXPECT_EQ(t.cables().size(), 24u + 24 + 24 + 12);
  EXPECT_EQ(made("torus:1x4,hosts=2").cables().size(), 8u + 4);
  EXPECT_THAT(refusal("torus:1024x1024x1024"), HasSubstr("hosts are more than"));
}

TEST(builders, name_topologies_by_the_word_that_makes_them_again) {
  for (const char* text : {"star:7", "fat-tree:100", "fat-tree:99,taper=3:2", "dragonfly:384",
                           "dragonfly:384,shape=xc40",
                           "dragonfly:100,shape=xc40,groups=3,routers=30", "torus:4x4,hosts=2"}) {
    const Topology first = made(text);
    const Topology again = made(first.name());
    EXPECT_EQ(again.name(), first.name());
    EXPECT_EQ(again.vertices(), first.vertices());
    EXPECT_EQ(again.cables().size(), first.cables().size());
  }
}

TEST(builders, connect_any_number_of_hosts) {
  for (std::uint32_t hosts = 1; hosts <= 150; ++hosts) {
    for (const char* kind : {"star:{}", "fat-tree:{}", "fat-tree:{},levels=3",
                             "fat-tree:{},taper=2", "dragonfly:{}", "dragonfly:{},shape=xc40"}) {
      const std::string text = fmt::format(fmt::runtime(kind), hosts);
      const auto topology = make_topology(text);
      ASSERT_TRUE(topology) << text << ": " << topology.error().message;
      EXPECT_EQ(topology->hosts(), hosts);
    }
  }
}

}  // namespace
}  // namespace weft::sim
