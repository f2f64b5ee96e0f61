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

TEST(level_moves, offer_each_job_what_it_has_in_the_starts) {
  const auto groups = moves_of_two_jobs().groups(Rungs(8, 1));
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].options,
            (std::vector<Rungs>{{1, 1, 1, 1}, {1, 1, 0, 1}, {1, 2, 0, 1}, {1, 3, 1, 1}}));
  EXPECT_EQ(
      groups[1].options,
      (std::vector<Rungs>{{1, 1, 1, 1}, {3, 1, 1, 1}, {3, 0, 1, 1}, {2, 0, 1, 1}, {1, 0, 1, 1}}));
  Rungs rungs = {0, 1, 2, 3, 0, 1, 2, 3};
  groups[1].take(2, rungs);
  EXPECT_EQ(rungs, (Rungs{0, 1, 2, 3, 3, 0, 1, 1}));
}

TEST(level_moves, offer_each_job_a_rung_up_or_down_from_other_levels_than_the_default) {
  const auto groups = moves_of_two_jobs().groups({1, 2, 0, 1, 1, 1, 1, 1});
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].options.front(), (Rungs{1, 2, 0, 1}));
  EXPECT_NE(std::ranges::find(groups[0].options, Rungs{1, 3, 0, 1}), groups[0].options.end());
  EXPECT_NE(std::ranges::find(groups[0].options, Rungs{2, 3, 1, 2}), groups[0].options.end());
  EXPECT_NE(std::ranges::find(groups[0].options, Rungs{0, 1, 0, 0}), groups[0].options.end());
}

TEST(level_moves, offer_each_process_all_rungs) {
  const auto choices = moves_of_two_jobs().processes_alone();
  ASSERT_EQ(choices.size(), 8U);
  EXPECT_EQ(choices[3].job, 0U);
  EXPECT_EQ(choices[4].job, 1U);
  Rungs rungs(8, middle_rung);
  choices[5].take(3, rungs);
  EXPECT_EQ(rungs, (Rungs{1, 1, 1, 1, 1, 3, 1, 1}));
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
