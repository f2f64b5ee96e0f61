// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/grant_step.hpp"

#include <gtest/gtest.h>

namespace weft::schedule {
namespace {

/// Input node 0 is so far ahead for some looks.
void look(GrantStep& step, std::uint64_t lowest, std::uint64_t rounds, int times = 100) {
  for (int i = 0; i < times; ++i) {
    step.on_look(0, lowest, rounds);
    step.on_look(1, lowest, 0);
  }
}

TEST(grant_step, an_input_node_is_ahead_when_it_leads_by_more_than_the_floor_for_a_while) {
  GrantStep step(2);  // whose floor is half a round
  for (std::uint64_t i = 0; i < 1000; ++i) {
    look(step, i, i % 2, 1);  // half a round on average, as in step
    ASSERT_FALSE(step.is_ahead(0)) << i;
  }
  look(step, 1000, 1);  // twice the floor
  EXPECT_TRUE(step.is_ahead(0));
  EXPECT_FALSE(step.is_ahead(1));
}

TEST(grant_step, one_look_during_a_pause_of_the_last_input_node_is_not_enough) {
  GrantStep step(2);
  look(step, 0, 1'000'000, 1);
  EXPECT_FALSE(step.is_ahead(0));
}

TEST(grant_step, an_input_node_waits_until_it_has_delivered_no_more_than_the_last_one) {
  GrantStep step(2);
  look(step, 100, 3);
  look(step, 102, 1);
  EXPECT_TRUE(step.is_ahead(0));
  look(step, 103, 0, 1);
  EXPECT_FALSE(step.is_ahead(0));
}

TEST(grant_step, waits_more_and_more_seldom_where_input_nodes_are_apart_again_at_once) {
  GrantStep step(2);
  std::uint64_t lowest = 0;
  std::uint64_t waits = 0;
  for (; lowest < 4096; ++lowest) {
    look(step, lowest, 2, 50);
    if (!step.is_ahead(0)) continue;
    ++waits;
    look(step, lowest, 0, 1);
  }
  EXPECT_LE(waits, 10u);  // after 16, 32, 64, … rounds
  EXPECT_GE(waits, 8u);
  look(step, 100'000, 2);  // long after: the first time again
  ASSERT_TRUE(step.is_ahead(0));
}

TEST(grant_step, nobody_is_ahead_in_a_new_view) {
  GrantStep step(8);
  look(step, 0, 4);
  EXPECT_TRUE(step.is_ahead(0));
  step.restart();
  EXPECT_FALSE(step.is_ahead(0));
}

TEST(grant_step, an_input_node_that_has_left_is_not_ahead_and_others_may_be) {
  GrantStep step(3);
  look(step, 0, 4);
  step.forget(0);
  EXPECT_FALSE(step.is_ahead(0));
  for (int i = 0; i < 100; ++i) step.on_look(2, 1000, 4);
  EXPECT_TRUE(step.is_ahead(2));
}

TEST(grant_step, limits_rounds_only_where_the_path_and_the_queue_in_front_of_it_are_short) {
  EXPECT_EQ(GrantStep(2).rounds(2.1, 6), 1u);
  EXPECT_EQ(GrantStep(2).rounds(3.1, 8), GrantStep::unlimited);
  EXPECT_EQ(GrantStep(2).rounds(2.1, 9), GrantStep::unlimited);
  EXPECT_EQ(GrantStep(8).rounds(5, 15), 2u);
  EXPECT_EQ(GrantStep(8).rounds(12.5, 15), GrantStep::unlimited);
}

}  // namespace
}  // namespace weft::schedule
