// SPDX-License-Identifier: Apache-2.0
#include "core/sweep/median.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weft::sweep {
namespace {

TEST(sweep_median, has_the_order_statistics_of_the_sign_test) {
  // Six values all lie on one side of the median with probability 2 / 2^6.
  const MedianInterval six = median_interval({6, 1, 5, 2, 4, 3});
  EXPECT_DOUBLE_EQ(six.median, 3.5);
  EXPECT_DOUBLE_EQ(six.low, 1);
  EXPECT_DOUBLE_EQ(six.high, 6);
  EXPECT_NEAR(six.confidence, 1 - 2.0 / 64, 1e-12);
  // Of nine, at most one lies on one side with probability 2 (1 + 9) / 2^9.
  const MedianInterval nine = median_interval({1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_DOUBLE_EQ(nine.low, 2);
  EXPECT_DOUBLE_EQ(nine.high, 8);
  EXPECT_NEAR(nine.confidence, 1 - 20.0 / 512, 1e-12);
}

TEST(sweep_median, admits_that_few_values_say_little) {
  EXPECT_DOUBLE_EQ(median_interval({7}).confidence, 0);
  EXPECT_NEAR(median_interval({1, 2, 3}).confidence, 0.75, 1e-12);
}

TEST(sweep_fence, stands_three_times_as_far_above_the_median_as_the_least_value_below) {
  // Median 10.4, least 10: 11.6 stays, and 11.7 does not.
  const std::vector<double> near{10, 10.2, 10.4, 10.4, 10.6, 11.6};
  EXPECT_EQ(without_disturbed(near), near);
  EXPECT_EQ(without_disturbed({10, 10.2, 10.4, 10.4, 10.6, 11.7}).size(), 5U);
  EXPECT_EQ(without_disturbed({10, 10, 10, 10, 10, 10, 10.06}).size(), 6U);
}

TEST(sweep_fence, keeps_slow_runs_that_are_no_exceptions) {
  EXPECT_EQ(without_disturbed({1, 1, 1, 1, 1, 2, 2, 2}).size(), 8U);
  EXPECT_EQ(without_disturbed({1, 1, 1, 1, 1, 1, 2, 2}).size(), 6U);
}

TEST(sweep_fence, keeps_all_of_few_runs) {
  EXPECT_EQ(without_disturbed({1, 1, 1, 1, 9}).size(), 5U);
}

}  // namespace
}  // namespace weft::sweep
