// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/grant_step.hpp"

#include <gtest/gtest.h>

namespace weft::schedule {
namespace {

/// Two input nodes, whose floor is half a round. A round takes 10 ms.
class grant_step : public ::testing::Test {
 protected:
  void look(std::uint64_t rounds_of_first) {
    step_.begin_look(now_, lowest_);
    step_.on_look(0, rounds_of_first);
    step_.on_look(1, 0);
  }
  /// Input node 0 delivers a contribution so much of a round earlier than input node 1.
  void rounds(int n, double earlier) {
    const auto whole = static_cast<std::uint64_t>(earlier);
    const auto part =
        Duration(static_cast<std::int64_t>((earlier - static_cast<double>(whole)) * 1e7));
    for (int i = 0; i < n; ++i) {
      look(whole);
      now_ = now_ + (Duration::milliseconds(10) - part);
      if (part > Duration{}) look(whole + 1);
      now_ = now_ + part;
      ++lowest_;
    }
  }
  GrantStep step_{2};
  Instant now_ = Instant{} + Duration::milliseconds(1);
  std::uint64_t lowest_ = 0;
};

TEST_F(grant_step, nobody_is_ahead_at_the_floor) {
  rounds(1000, 0.5);
  EXPECT_FALSE(step_.is_ahead(0));
  EXPECT_FALSE(step_.is_ahead(1));
}

TEST_F(grant_step, an_input_node_is_ahead_after_four_rounds_by_more_than_the_floor_and_a_third) {
  rounds(20, 0.5);
  rounds(4, 0.7);
  EXPECT_FALSE(step_.is_ahead(0));
  rounds(1, 0.7);
  EXPECT_TRUE(step_.is_ahead(0));
  EXPECT_FALSE(step_.is_ahead(1));
}

TEST_F(grant_step, how_often_the_node_looks_makes_no_difference) {
  rounds(20, 0.5);
  for (int i = 0; i < 8; ++i) {
    for (int k = 0; k < 100; ++k) look(1);  // at the same time
    rounds(1, 0.5);
  }
  EXPECT_FALSE(step_.is_ahead(0));
}

TEST_F(grant_step, a_pause_of_the_last_input_node_is_not_enough) {
  rounds(20, 0.5);
  look(100);
  now_ = now_ + Duration::seconds(1);
  lowest_ += 2;
  rounds(10, 0.5);
  EXPECT_FALSE(step_.is_ahead(0));
}

TEST_F(grant_step, an_input_node_waits_until_it_is_at_the_floor) {
  rounds(25, 1.5);
  ASSERT_TRUE(step_.is_ahead(0));
  rounds(4, 0.6);
  EXPECT_TRUE(step_.is_ahead(0));
  rounds(4, 0.4);
  EXPECT_FALSE(step_.is_ahead(0));
}

TEST_F(grant_step, waits_more_and_more_seldom_where_input_nodes_are_apart_again_at_once) {
  int waits = 0;
  while (lowest_ < 4096) {
    rounds(2, 2);
    if (!step_.is_ahead(0)) continue;
    ++waits;
    while (step_.is_ahead(0)) rounds(2, 0);
  }
  EXPECT_LE(waits, 10);  // after 16, 32, 64, … rounds
  EXPECT_GE(waits, 7);
  lowest_ = 100'000;  // long after: soon again
  rounds(10, 2);
  EXPECT_TRUE(step_.is_ahead(0));
}

TEST_F(grant_step, nobody_is_ahead_in_a_new_view) {
  rounds(10, 2);
  ASSERT_TRUE(step_.is_ahead(0));
  step_.restart();
  EXPECT_FALSE(step_.is_ahead(0));
  lowest_ = 0;
  rounds(10, 2);
  EXPECT_TRUE(step_.is_ahead(0));
}

TEST_F(grant_step, an_input_node_that_has_left_is_not_ahead) {
  rounds(10, 2);
  ASSERT_TRUE(step_.is_ahead(0));
  step_.forget(0);
  EXPECT_FALSE(step_.is_ahead(0));
}

TEST_F(grant_step, a_clock_that_is_set_back_says_nothing) {
  rounds(20, 0.5);
  now_ = Instant{};
  rounds(20, 0.5);
  EXPECT_FALSE(step_.is_ahead(0));
}

TEST(grant_step_rounds, are_those_of_the_path_where_it_and_the_queue_in_front_of_it_are_short) {
  EXPECT_EQ(GrantStep(2).rounds(1.5, 4), 1u);
  EXPECT_EQ(GrantStep(2).rounds(2.1, 6), 2u);
  EXPECT_EQ(GrantStep(2).rounds(5.1, 8), GrantStep::unlimited);
  EXPECT_EQ(GrantStep(2).rounds(2.1, 9), GrantStep::unlimited);
  EXPECT_EQ(GrantStep(8).rounds(5, 15), 2u) << "one more with more than two";
  EXPECT_EQ(GrantStep(8).rounds(20.5, 50), GrantStep::unlimited);
}

}  // namespace
}  // namespace weft::schedule
