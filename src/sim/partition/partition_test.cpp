// SPDX-License-Identifier: Apache-2.0
#include "sim/partition/partition.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>

#include "sim/topology/builders.hpp"

namespace weft::sim {
namespace {

constexpr const char* topologies[] = {"star:8",
                                      "fat-tree:64",
                                      "fat-tree:256,levels=3",
                                      "fat-tree:100,levels=2,taper=2",
                                      "dragonfly:72",
                                      "dragonfly:384,shape=xc40",
                                      "torus:4x4x4",
                                      "torus:3x5,hosts=2"};

/// The number of cables whose ends are in different parts.
std::uint32_t cables_cut(const Topology& topology, const std::vector<std::uint32_t>& owners) {
  return static_cast<std::uint32_t>(std::count_if(
      topology.cables().begin(), topology.cables().end(),
      [&](const Cable& c) { return owners[c.a.vertex.value()] != owners[c.b.vertex.value()]; }));
}

/// Returns how many hosts each part has.
std::vector<std::uint32_t> hosts_of(const Topology& topology,
                                    const std::vector<std::uint32_t>& owners, std::uint32_t parts) {
  std::vector<std::uint32_t> hosts(parts, 0);
  for (std::uint32_t h = 0; h < topology.hosts(); ++h) ++hosts[owners[h]];
  return hosts;
}

TEST(partition, every_vertex_is_in_one_part_and_hosts_are_with_their_switch) {
  for (const char* text : topologies) {
    const auto topology = make_topology(text);
    for (const std::uint32_t parts : {1U, 2U, 3U, 7U, 64U}) {
      const auto owners = partition(*topology, parts);
      ASSERT_EQ(owners.size(), topology->vertices());
      for (const std::uint32_t owner : owners) ASSERT_LT(owner, parts) << text;
      for (std::uint32_t h = 0; h < topology->hosts(); ++h) {
        ASSERT_EQ(owners[h], owners[topology->edge(h).value()]) << text;
      }
    }
  }
}

TEST(partition, parts_have_about_as_many_hosts_each_where_there_are_enough_switches) {
  for (const char* text : {"fat-tree:256,levels=3", "fat-tree:1024", "dragonfly:384,shape=xc40",
                           "torus:4x4x4", "torus:8x8,hosts=2"}) {
    const auto topology = make_topology(text);
    for (const std::uint32_t parts : {2U, 3U, 4U}) {
      const auto hosts = hosts_of(*topology, partition(*topology, parts), parts);
      const auto [least, most] = std::minmax_element(hosts.begin(), hosts.end());
      EXPECT_LE(*most, *least * 3 / 2) << text << " in " << parts;
    }
  }
}

TEST(partition, switches_above_the_hosts_are_shared_out) {
  const auto topology = make_topology("fat-tree:1024,levels=3,radix=16");
  for (const std::uint32_t parts : {2U, 4U, 8U}) {
    const auto owners = partition(*topology, parts);
    std::vector<std::uint32_t> switches(parts, 0);
    for (std::uint32_t s = 0; s < topology->switches(); ++s) {
      ++switches[owners[topology->switch_at(s).value()]];
    }
    for (const std::uint32_t n : switches) EXPECT_EQ(n, topology->switches() / parts);
  }
}

/// The share of cables between switches that is cut.
double cut(const char* text, std::uint32_t parts) {
  const auto topology = make_topology(text);
  return static_cast<double>(cables_cut(*topology, partition(*topology, parts))) /
         static_cast<double>(topology->cables().size() - topology->hosts());
}

TEST(partition, what_is_near_stays_together) {
  EXPECT_LE(cut("torus:8x8x8", 2), 2.0 / 24 + 0.01);  // two planes of 64 of 3 · 512 cables
  EXPECT_LE(cut("fat-tree:1024,levels=3,radix=16", 2), 0.26);  // half the cables of the top
  EXPECT_LE(cut("dragonfly:384,shape=xc40", 2), 0.5);
}

TEST(partition, a_single_switch_is_not_divided) {
  const auto topology = make_topology("star:8");
  const auto owners = partition(*topology, 3);
  EXPECT_TRUE(std::all_of(owners.begin(), owners.end(), [&](auto o) { return o == owners[0]; }));
  EXPECT_EQ(cables_cut(*topology, owners), 0u);
  EXPECT_TRUE(neighbours_of(*topology, owners, owners[0]).empty());
}

TEST(partition, different_topologies_have_different_digests) {
  std::set<std::uint64_t> digests;
  for (const char* text : topologies) digests.insert(digest(*make_topology(text)));
  EXPECT_EQ(digests.size(), std::size(topologies));
  EXPECT_EQ(digest(*make_topology("star:8")), digest(*make_topology("star:8")));
}

TEST(partition, being_neighbours_is_mutual) {
  const auto topology = make_topology("torus:8x4");
  const auto owners = partition(*topology, 4);
  EXPECT_EQ(neighbours_of(*topology, owners, 0), (std::vector<std::uint32_t>{1, 3}));
  EXPECT_EQ(neighbours_of(*topology, owners, 1), (std::vector<std::uint32_t>{0, 2}));
}

}  // namespace
}  // namespace weft::sim
