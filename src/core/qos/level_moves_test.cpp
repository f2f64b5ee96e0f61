// SPDX-License-Identifier: Apache-2.0
#include "core/qos/level_moves.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace weft::qos {
namespace {

using Iterations = std::vector<std::uint64_t>;
using Waits = std::vector<double>;

LevelMoves moves_of_two_jobs() {
  const std::vector<JobFacts> jobs = {{.processes = 4, .message_bytes = 9000},
                                      {.processes = 4, .message_bytes = 1000}};
  LevelMoves moves(jobs);
  const Iterations first(4, 100), second = {100, 200, 100, 100};
  const Waits first_waits = {.5, .1, .6, .4}, second_waits = {0, .5, .1, .2};
  const std::vector<JobWindow> window = {{.iterations = first, .waited = first_waits},
                                         {.iterations = second, .waited = second_waits}};
  for (int i = 0; i < 4; ++i) moves.observe(window);
  moves.find_slack();
  return moves;
}

TEST(level_moves, knows_the_slack_of_each_process_from_what_it_waits) {
  const LevelMoves moves = moves_of_two_jobs();
  EXPECT_NEAR(moves.slack()[0], 0.4, 1e-9);
  EXPECT_NEAR(moves.slack()[1], 0.0, 1e-9);
  EXPECT_NEAR(moves.slack()[2], 0.5, 1e-9);
  // Runs ahead: half an iteration less, and it waits half of its own.
  EXPECT_NEAR(moves.slack()[5], 0.75, 1e-9);
}

TEST(level_moves, begin_with_the_busy_processes_of_jobs_with_short_messages) {
  const auto starts = moves_of_two_jobs().starts();
  EXPECT_EQ(starts[0], (Rungs{1, 1, 1, 1, 3, 1, 1, 1}));
  // Those with ample time go down besides.
  EXPECT_EQ(starts[1], (Rungs{1, 1, 0, 1, 3, 0, 1, 1}));
}

TEST(level_moves, repair_a_job_that_lost_by_undoing_its_demotions) {
  const LevelMoves moves = moves_of_two_jobs();
  const Rungs from = {0, 0, 0, 1, 1, 1, 1, 1};
  const std::vector<double> gains = {-0.03, 0.01};
  const auto around = moves.around(from, gains);
  const Rungs repaired = {1, 2, 1, 1, 1, 1, 1, 1};
  EXPECT_NE(std::find(around.begin(), around.end(), repaired), around.end());
}

TEST(level_moves, raise_the_busy_processes_of_a_job_in_groups_then_each_one_the_busiest_first) {
  const auto raises = moves_of_two_jobs().raises(Rungs(8, 1), 0);
  ASSERT_EQ(raises.size(), 4U + 4U);
  EXPECT_EQ(raises[0], (Rungs{1, 3, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(raises[1], (Rungs{1, 2, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(raises[3], (Rungs{2, 2, 2, 2, 1, 1, 1, 1}));
  EXPECT_EQ(raises[5], (Rungs{1, 1, 1, 3, 1, 1, 1, 1}));
}

TEST(level_moves, demote_the_processes_of_a_job_that_have_time_to_spare_or_all) {
  const auto demotions = moves_of_two_jobs().demotions(Rungs(8, 1), 0);
  EXPECT_EQ(demotions, (std::vector<Rungs>{{0, 1, 0, 1, 1, 1, 1, 1}, {0, 0, 0, 0, 1, 1, 1, 1}}));
}

TEST(level_moves, move_each_process_of_a_job_a_rung_up_and_down) {
  const auto steps = moves_of_two_jobs().steps({0, 3, 1, 1, 1, 1, 1, 1}, 0);
  EXPECT_EQ(steps, (std::vector<Rungs>{{1, 3, 1, 1, 1, 1, 1, 1},
                                       {0, 2, 1, 1, 1, 1, 1, 1},
                                       {0, 3, 2, 1, 1, 1, 1, 1},
                                       {0, 3, 0, 1, 1, 1, 1, 1},
                                       {0, 3, 1, 2, 1, 1, 1, 1},
                                       {0, 3, 1, 0, 1, 1, 1, 1}}));
}

TEST(level_moves, take_a_job_from_other_rungs) {
  const Rungs other = {0, 1, 2, 3, 3, 2, 1, 0};
  EXPECT_EQ(moves_of_two_jobs().with_job(Rungs(8, 1), 1, other), (Rungs{1, 1, 1, 1, 3, 2, 1, 0}));
}

TEST(level_moves, weigh_losses_more_than_gains) {
  EXPECT_DOUBLE_EQ(utility(0.04), 0.04);
  EXPECT_DOUBLE_EQ(utility(0.07), 0.06);
  EXPECT_DOUBLE_EQ(utility(-0.01), -0.01);
  EXPECT_DOUBLE_EQ(utility(-0.025), 4 * -0.01 - 0.015);
  EXPECT_DOUBLE_EQ(utility(-0.045), 4 * -0.02 - 12 * 0.01 - 0.015);
  const std::vector<double> gains = {0.04, -0.02};
  EXPECT_DOUBLE_EQ(mean_utility(gains), (0.04 - 0.035) / 2);
}

}  // namespace
}  // namespace weft::qos
