// SPDX-License-Identifier: Apache-2.0
#include "runtime/membership/life.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(life, later_ones_have_higher_numbers) {
  const Incarnation now = incarnation_now();
  EXPECT_GT(now, Incarnation(10'000'000));
  EXPECT_GE(incarnation_now(), now);
  EXPECT_GT(incarnation_at({.tv_sec = 1'800'000'001, .tv_nsec = 0}),
            incarnation_at({.tv_sec = 1'800'000'000, .tv_nsec = 900'000'000}));
}

TEST(life, a_clock_that_was_never_set_still_gives_a_number) {
  EXPECT_EQ(incarnation_at({.tv_sec = 0, .tv_nsec = 0}), Incarnation(1));
}

TEST(life, a_number_that_was_waited_for_has_come) {
  const Incarnation next(incarnation_now().value() + 1);
  wait_for(next);
  EXPECT_GE(incarnation_now(), next);
}

}  // namespace
}  // namespace weft
