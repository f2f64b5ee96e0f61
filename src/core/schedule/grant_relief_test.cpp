// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/grant_relief.hpp"

#include <gtest/gtest.h>

namespace weft::schedule {
namespace {

using Step = GrantRelief::Step;

// Periods of 6 ms with 100 contributions each, unless a test says otherwise.
class relief : public ::testing::Test {
 protected:
  Step period(std::uint32_t starved, std::uint32_t arrivals = 100,
              Duration length = Duration::milliseconds(6)) {
    return relief_.on_period(
        {.length = length, .arrivals = arrivals, .starved = starved, .usual_rate = 100 / 0.006});
  }
  // Returns after how many periods with starved senders more are to be in flight.
  int periods_until_more() {
    for (int n = 1; n < 1000; ++n) {
      if (period(100) == Step::add) return n;
    }
    return 0;
  }
  GrantRelief relief_;
};

TEST_F(relief, comes_when_senders_have_starved_for_longer_than_turns_of_processes) {
  EXPECT_EQ(period(51), Step::none);
  EXPECT_EQ(period(51), Step::none) << "6 ms so far";
  EXPECT_EQ(period(51), Step::add) << "12 ms";
}

TEST_F(relief, does_not_come_where_half_of_the_senders_have_grants_left) {
  for (int n = 0; n < 20; ++n) EXPECT_EQ(period(50), Step::none);
}

TEST_F(relief, begins_to_count_again_after_a_period_with_grants) {
  period(100);
  period(100);
  period(0);
  EXPECT_EQ(periods_until_more(), 3);
}

TEST_F(relief, waits_for_the_end_of_a_streams_beginning) {
  const GrantRelief::Period early{.length = Duration::milliseconds(6),
                                  .arrivals = 100,
                                  .starved = 100,
                                  .usual_rate = 1,
                                  .may_begin = false};
  for (int n = 0; n < 5; ++n) EXPECT_EQ(relief_.on_period(early), Step::none);
  EXPECT_EQ(period(100), Step::add);
}

TEST_F(relief, goes_on_while_it_makes_the_node_faster) {
  ASSERT_EQ(periods_until_more(), 3);
  for (int n = 0; n < 4; ++n) {
    EXPECT_TRUE(relief_.is_on_trial());
    EXPECT_EQ(period(100, 105), Step::none);
  }
  EXPECT_FALSE(relief_.is_on_trial());
  EXPECT_EQ(period(100), Step::add) << "they have starved all the time";
}

TEST_F(relief, is_taken_back_where_links_decide_and_comes_later_the_next_time) {
  ASSERT_EQ(periods_until_more(), 3);
  for (int n = 0; n < 3; ++n) EXPECT_EQ(period(100, 103), Step::none);
  EXPECT_EQ(period(100, 103), Step::take_back);
  EXPECT_EQ(periods_until_more(), 5) << "after 20 ms";
  for (int n = 0; n < 4; ++n) period(100, 103);
  EXPECT_EQ(periods_until_more(), 8) << "after 40 ms";
}

/// The nodes agree on a number, and others may not want more yet.
TEST_F(relief, is_judged_once_more_is_in_flight) {
  ASSERT_EQ(periods_until_more(), 3);
  GrantRelief::Period without{.length = Duration::milliseconds(6),
                              .arrivals = 100,
                              .starved = 100,
                              .usual_rate = 100 / 0.006,
                              .has_more = false};
  for (int n = 0; n < 20; ++n) EXPECT_EQ(relief_.on_period(without), Step::none);
  EXPECT_TRUE(relief_.is_on_trial());
  for (int n = 0; n < 4; ++n) EXPECT_EQ(period(100, 110), Step::none);
  EXPECT_EQ(period(100), Step::add);
  without.starved = 0;
  EXPECT_EQ(relief_.on_period(without), Step::take_back) << "senders have grants again";
  EXPECT_EQ(periods_until_more(), 3) << "that says nothing of its use";
}

/// What waited for the node comes in one short period; the next one pays for it.
TEST_F(relief, is_not_judged_by_a_burst) {
  ASSERT_EQ(periods_until_more(), 3);
  period(100, 100, Duration::milliseconds(1));
  period(100, 100, Duration::milliseconds(11));
  period(100);
  EXPECT_EQ(period(100), Step::take_back);
}

TEST_F(relief, comes_within_a_fifth_of_a_second_however_often_it_was_in_vain) {
  for (int n = 0; n < 20; ++n) {
    ASSERT_GT(periods_until_more(), 0);
    while (relief_.is_on_trial()) period(100);
  }
  EXPECT_LE(periods_until_more(), 33);
}

TEST_F(relief, comes_soon_again_in_a_new_view) {
  ASSERT_EQ(periods_until_more(), 3);
  while (relief_.is_on_trial()) period(100);
  relief_.restart();
  EXPECT_EQ(periods_until_more(), 3);
}

}  // namespace
}  // namespace weft::schedule
