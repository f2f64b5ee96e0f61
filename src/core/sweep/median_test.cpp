// SPDX-License-Identifier: Apache-2.0
#include "core/sweep/median.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "base/rng.hpp"
#include "core/sweep/plan.hpp"

namespace weft::sweep {
namespace {

TEST(sweep_median, has_the_order_statistics_of_the_sign_test) {
  // Six values all lie on one side of the median with probability 2 / 2^6.
  const MedianInterval six = median_interval({6, 1, 5, 2, 4, 3});
  EXPECT_DOUBLE_EQ(six.median, 3.5);
  EXPECT_DOUBLE_EQ(six.low, 1);
  EXPECT_DOUBLE_EQ(six.high, 6);
  EXPECT_NEAR(six.confidence, 1 - 2.0 / 64, 1e-12);
  // Of ten, at most one lies on one side with probability 2 (1 + 10) / 2^10.
  const MedianInterval ten = median_interval({1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  EXPECT_DOUBLE_EQ(ten.low, 2);
  EXPECT_DOUBLE_EQ(ten.high, 9);
  EXPECT_NEAR(ten.confidence, 1 - 22.0 / 1024, 1e-12);
  // Of nine it is 0.039, more than that of six: the interval stays the whole range.
  EXPECT_DOUBLE_EQ(median_interval({1, 2, 3, 4, 5, 6, 7, 8, 9}).low, 1);
}

TEST(sweep_median, admits_that_few_values_say_little) {
  EXPECT_DOUBLE_EQ(median_interval({7}).confidence, 0);
  EXPECT_NEAR(median_interval({1, 2, 3}).confidence, 0.75, 1e-12);
}

/// Times as programs have them, skewed to the slow side: e^(spread z), whose median is 1.
double lognormal(Rng& rng, double spread) {
  const double radius = std::sqrt(-2 * std::log(1 - rng.uniform()));
  return std::exp(spread * radius * std::cos(2 * std::numbers::pi * rng.uniform()));
}

/// The share of points whose interval has the true median, each measured as a sweep measures it:
/// until the interval is narrow.
double covered(double spread, std::uint64_t seed) {
  constexpr int kPoints = 4'000;
  Rng rng(seed);
  int hits = 0;
  for (int i = 0; i < kPoints; ++i) {
    SweepPlan plan({.points = 1, .precision = 0.02});
    while (plan.next(Duration{})) plan.add(0, {.value = lognormal(rng, spread), .wall_s = 1});
    const MedianInterval interval = *plan.state(0).interval;
    hits += interval.low <= 1 && 1 <= interval.high ? 1 : 0;
  }
  return static_cast<double>(hits) / kPoints;
}

TEST(sweep_median, lies_within_its_interval_as_often_as_promised_however_skewed_times_are) {
  // 4,000 points tell a share of 95 % to ± 0.7 %, two standard deviations.
  for (const double spread : {0.005, 0.03, 1.0}) {
    EXPECT_GE(covered(spread, 1), 0.943) << "spread " << spread << ", seed 1";
  }
}

}  // namespace
}  // namespace weft::sweep
