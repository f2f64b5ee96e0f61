// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/dfs/interval_grid.hpp"

#include <gtest/gtest.h>

namespace weft::schedule::dfs {
namespace {

TEST(interval_grid, has_as_many_rounds_as_timeslices_allow) {
  // 10000 / 192 = 52.08: 52 rounds of 192 are 9984 timeslices.
  const IntervalGrid grid({.first = TimesliceIndex(0), .computes = 192}, 10'000);
  EXPECT_EQ(grid.rounds(), 52u);
  EXPECT_EQ(grid.contributions(), 9'984u);
}

TEST(interval_grid, has_one_round_when_compute_nodes_outnumber_timeslices) {
  const IntervalGrid grid({.first = TimesliceIndex(0), .computes = 8}, 3);
  EXPECT_EQ(grid.rounds(), 1u);
}

TEST(interval_grid, finds_interval_round_and_compute_node_of_a_timeslice) {
  // 3 compute nodes, 7 / 3 = 2 rounds, so 6 timeslices per interval from 100 on.
  const IntervalGrid grid({.first = TimesliceIndex(100), .computes = 3}, 7);
  const TimesliceIndex t(100 + 6 + 4);  // second interval, second round, compute node 1
  EXPECT_EQ(grid.interval_of(t), IntervalId(101));
  EXPECT_EQ(grid.round_of(t), 1u);
  EXPECT_EQ(grid.compute_of(t), 1u);
  EXPECT_EQ(grid.timeslice(IntervalId(101), 1, 1), t);
  EXPECT_EQ(grid.first_timeslice(IntervalId(101)), TimesliceIndex(106));
}

TEST(interval_grid, numbers_ascend_from_grid_to_grid) {
  const IntervalGrid before({.first = TimesliceIndex(0), .computes = 4}, 1);
  const TimesliceIndex change(40);
  const IntervalGrid after({.first = change, .computes = 3}, 1);
  EXPECT_LT(before.interval_of(TimesliceIndex(39)), after.interval_of(change));
}

}  // namespace
}  // namespace weft::schedule::dfs
