// SPDX-License-Identifier: Apache-2.0
#include "runtime/crowding.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

/// Returns how often it moves in `times` yields of that length.
int moves(Crowding& crowding, Instant& now, int times, Duration took) {
  int count = 0;
  for (int i = 0; i < times; ++i) {
    now = now + took;
    if (crowding.yielded(now, took, false)) ++count;
  }
  return count;
}

constexpr Duration spin_of_another = Duration::microseconds(12);

TEST(crowding, a_driver_that_takes_turns_with_another_moves_soon_and_then_less_often) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Crowding crowding(seed);
    Instant now = Instant{} + Duration::seconds(5);
    EXPECT_GT(moves(crowding, now, 4'000, spin_of_another), 0) << seed;
    EXPECT_LT(moves(crowding, now, 100'000, spin_of_another), 80) << seed;
  }
}

TEST(crowding, yields_that_the_kernel_does_not_obey_change_nothing) {
  Crowding crowding(3);
  Instant now = Instant{} + Duration::seconds(5);
  int count = 0;
  for (int i = 0; i < 4'000; ++i) {
    count += moves(crowding, now, 3, Duration::nanoseconds(700));
    count += moves(crowding, now, 1, spin_of_another);
  }
  EXPECT_GT(count, 0);
}

TEST(crowding, a_driver_that_has_slept_moves_as_soon_as_in_the_beginning) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Crowding crowding(seed);
    Instant now = Instant{} + Duration::seconds(5);
    moves(crowding, now, 100'000, spin_of_another);
    // Two decisions in 32 ms at most, and some ten in four.
    crowding.slept(now);
    EXPECT_GT(moves(crowding, now, 333, spin_of_another), 0) << seed;
    // It may not do so more often than once in a millisecond.
    int again = 0;
    for (int i = 0; i < 333; ++i) {
      crowding.slept(now);
      again += moves(crowding, now, 1, spin_of_another);
    }
    EXPECT_LT(again, 4 * 5) << seed;
  }
}

TEST(crowding, two_drivers_do_not_move_together_for_long) {
  Crowding one(101), other(102);
  Instant now = Instant{} + Duration::seconds(5);
  bool has_parted = false;
  for (int i = 0; i < 100'000 && !has_parted; ++i) {
    now = now + spin_of_another;
    has_parted =
        one.yielded(now, spin_of_another, false) != other.yielded(now, spin_of_another, false);
  }
  EXPECT_TRUE(has_parted);
}

TEST(crowding, a_driver_that_is_alone_or_beside_one_that_computes_stays) {
  Crowding crowding(7);
  Instant now = Instant{} + Duration::seconds(5);
  EXPECT_EQ(moves(crowding, now, 10'000, Duration::nanoseconds(400)), 0);
  EXPECT_EQ(moves(crowding, now, 10'000, Duration::milliseconds(3)), 0);
}

TEST(crowding, a_driver_moves_after_short_yields_that_bring_what_it_waits_for) {
  Crowding crowding(7);
  Instant now = Instant{} + Duration::seconds(5);
  int count = 0;
  for (int i = 0; i < 10'000; ++i) {
    now = now + Duration::microseconds(2);
    count += crowding.yielded(now, Duration::microseconds(1), true) ? 1 : 0;
  }
  EXPECT_GT(count, 0);
}

}  // namespace
}  // namespace weft
