// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/grant_step.hpp"

#include <gtest/gtest.h>

namespace weft::schedule {
namespace {

/// Two input nodes, whose floor is half a round. A round takes 10 ms.
class grant_step : public ::testing::Test {
 protected:
  void look(std::uint64_t rounds_of_first) {
    step_.begin_look(now_, lowest_, path_, 4);
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
  double path_ = 2;  // contributions, of which 4 are in flight
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

TEST_F(grant_step, an_input_node_waits_until_it_is_ahead_by_the_floor_and_a_sixth) {
  rounds(25, 1.5);
  ASSERT_TRUE(step_.is_ahead(0));
  rounds(4, 0.62);
  EXPECT_TRUE(step_.is_ahead(0));
  rounds(4, 0.56);
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

TEST_F(grant_step, an_input_node_that_has_left_is_not_ahead_and_others_wait_in_their_turn) {
  rounds(10, 2);
  ASSERT_TRUE(step_.is_ahead(0));
  step_.forget(0);
  EXPECT_FALSE(step_.is_ahead(0));
  rounds(10, 2);
  ASSERT_TRUE(step_.is_ahead(0));
  while (step_.is_ahead(0)) rounds(2, 0);
  const std::uint64_t released = lowest_;
  while (!step_.is_ahead(0)) rounds(2, 2);
  EXPECT_GE(lowest_, released + 16) << "the last one that waits begins the pause";
}

TEST_F(grant_step, a_clock_that_is_set_back_begins_anew) {
  rounds(10, 2);
  ASSERT_TRUE(step_.is_ahead(0));
  now_ = Instant{};
  look(0);
  EXPECT_FALSE(step_.is_ahead(0));
  rounds(100, 0.5);
  EXPECT_FALSE(step_.is_ahead(0));
}

TEST_F(grant_step, nobody_waits_and_nothing_is_learnt_where_waiting_costs_more_than_the_spread) {
  path_ = 5.1;  // more than two and a half rounds
  rounds(1000, 2);
  EXPECT_FALSE(step_.is_ahead(0));
  EXPECT_EQ(step_.rounds(), GrantStep::unlimited);
  path_ = 2;
  rounds(3, 2);
  EXPECT_FALSE(step_.is_ahead(0)) << "two averages are those of four rounds";
  rounds(2, 2);
  EXPECT_TRUE(step_.is_ahead(0)) << "no wait in vain made it impatient";
  path_ = 0.9;  // a fourth of what is in flight, and less
  look(2);
  EXPECT_FALSE(step_.is_ahead(0));
}

TEST(grant_step_rounds, are_those_that_the_path_holds_and_one_more_with_several_input_nodes) {
  const auto rounds = [](std::size_t inputs, double path_holds, std::uint64_t in_flight) {
    GrantStep step(inputs);
    step.begin_look(Instant{}, 0, path_holds, in_flight);
    return step.rounds();
  };
  EXPECT_EQ(rounds(2, 1.5, 4), 1u);
  EXPECT_EQ(rounds(2, 2.1, 6), 2u);
  EXPECT_EQ(rounds(2, 5.1, 8), GrantStep::unlimited);
  EXPECT_EQ(rounds(2, 2.1, 9), GrantStep::unlimited);
  EXPECT_EQ(rounds(8, 5, 15), 2u);
  EXPECT_EQ(rounds(8, 20.5, 50), GrantStep::unlimited);
}

}  // namespace
}  // namespace weft::schedule
