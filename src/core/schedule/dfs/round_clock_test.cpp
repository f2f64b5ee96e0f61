// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/dfs/round_clock.hpp"

#include <gtest/gtest.h>

namespace weft::schedule::dfs {
namespace {

TEST(round_clock, rounds_start_as_equation_4_says) {
  // tm = 1000, durp = 800, 4 rounds: durr = 200, so 1000, 1200, 1400, 1600, and the end at 1800.
  const RoundClock clock(Instant(1'000), Duration(800), 4);
  for (std::uint32_t y = 0; y <= 4; ++y) {
    EXPECT_EQ(clock.round_start(y), Instant(1'000 + 200 * y)) << y;
  }
}

TEST(round_clock, rounding_does_not_add_up) {
  // 1000 / 3 = 333.3: the end is at 1000, not at 3 · 333.
  const RoundClock clock(Instant(0), Duration(1'000), 3);
  EXPECT_EQ(clock.round_start(2), Instant(666));
  EXPECT_EQ(clock.round_start(3), Instant(1'000));
}

TEST(round_clock, contributions_divide_a_round_fairly) {
  RoundClock clock(Instant(1'000), Duration(800), 4);
  clock.begin_round(1, Instant(1'200));
  // 200 until the next round, 4 contributions: every 50.
  EXPECT_EQ(clock.due(1, 0, 4), Instant(1'200));
  EXPECT_EQ(clock.due(1, 1, 4), Instant(1'250));
  EXPECT_EQ(clock.due(1, 3, 4), Instant(1'350));
  EXPECT_EQ(clock.due(2, 0, 4), Instant(1'400));
}

TEST(round_clock, late_round_divides_what_is_left_of_it) {
  RoundClock clock(Instant(1'000), Duration(800), 4);
  clock.begin_round(1, Instant(1'320));
  // 80 until 1400: every 20.
  EXPECT_EQ(clock.due(1, 1, 4), Instant(1'340));
  EXPECT_EQ(clock.due(1, 3, 4), Instant(1'380));
}

TEST(round_clock, round_that_begins_after_its_end_is_due_at_once) {
  RoundClock clock(Instant(1'000), Duration(800), 4);
  clock.begin_round(1, Instant(1'500));
  EXPECT_EQ(clock.due(1, 3, 4), Instant(1'500));
}

}  // namespace
}  // namespace weft::schedule::dfs
