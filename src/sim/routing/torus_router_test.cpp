// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/routing/test_walk.hpp"

namespace weft::sim {
namespace {

using testing::ElementsAre;

std::vector<Step> route(const Topology& t, std::uint32_t from, std::uint32_t to) {
  Rng rng(1);
  return walk(t, *router_of("dimension-order", t), from, to, 0, rng);
}

TEST(dimension_order, goes_the_shorter_way_in_one_dimension_after_the_other) {
  // Ports: 0 host, then below and above in x, below and above in y; at coordinate 0 above first.
  const Topology t = topology_of("torus:5x5");
  // (1,1) to (3,2): x up twice, y up once.
  EXPECT_THAT(route(t, 6, 13), ElementsAre(Step{6, 2}, Step{7, 2}, Step{8, 4}, Step{13, 0}));
  // (3,2) to (1,1): x down twice, y down once.
  EXPECT_THAT(route(t, 13, 6), ElementsAre(Step{13, 1}, Step{12, 1}, Step{11, 3}, Step{6, 0}));
}

TEST(dimension_order, changes_to_class_one_where_it_closes_the_ring_and_back_in_the_next) {
  const Topology t = topology_of("torus:5x5");
  // (3,0) to (0,1): x up over the end of the ring, then y up in class 0 again.
  EXPECT_THAT(route(t, 3, 5),
              ElementsAre(Step{3, 2, 0}, Step{4, 2, 1}, Step{0, 3, 0}, Step{5, 0, 0}));
  // (0,0) to (3,0): down over the end, and on in class 1.
  EXPECT_THAT(route(t, 0, 3), ElementsAre(Step{0, 2, 1}, Step{4, 1, 1}, Step{3, 0, 0}));
}

TEST(dimension_order, needs_one_class_only_where_rings_are_shorter_than_four) {
  EXPECT_EQ(router_of("dimension-order", topology_of("torus:3x2x1"))->channels(), 1);
  EXPECT_EQ(router_of("dimension-order", topology_of("torus:3x4"))->channels(), 2);
}

TEST(dimension_order, goes_both_ways_round_when_they_are_equally_long) {
  const Topology t = topology_of("torus:4,hosts=64");
  int up = 0;
  for (std::uint32_t to = 128; to < 192; ++to) up += route(t, 0, to).at(0).port == 64 ? 1 : 0;
  EXPECT_NEAR(up, 32, 16);
}

}  // namespace
}  // namespace weft::sim
