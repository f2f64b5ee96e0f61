// SPDX-License-Identifier: Apache-2.0
#include "base/rng.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(rng, same_seed_same_numbers_on_every_platform) {
  Rng a(42), b(42);
  const std::uint64_t first = a.next();
  EXPECT_EQ(first, b.next());
  // Value of the reference xoshiro256** seeded by splitmix64(42).
  EXPECT_EQ(first, 1546998764402558742ULL);
}

TEST(rng, split_does_not_advance_the_parent_and_is_repeatable) {
  Rng parent(1);
  Rng child_a = parent.split(7);
  Rng child_b = parent.split(7);
  Rng other = parent.split(8);
  EXPECT_EQ(child_a.next(), child_b.next());
  EXPECT_NE(child_a.next(), other.next());
  EXPECT_EQ(parent.next(), Rng(1).next());
}

TEST(rng, below_stays_below_and_reaches_every_value) {
  Rng rng(3);
  int seen[5] = {};
  for (int i = 0; i < 1000; ++i) {
    const auto v = rng.below(5);
    ASSERT_LT(v, 5u);
    ++seen[v];
  }
  for (int count : seen) EXPECT_GT(count, 120);
}

TEST(rng, means_of_the_distributions) {
  Rng rng(9);
  double exponential = 0, small = 0, large = 0;
  constexpr int n = 20000;
  for (int i = 0; i < n; ++i) {
    exponential += rng.exponential(5.0);
    small += static_cast<double>(rng.poisson(4.0));
    large += static_cast<double>(rng.poisson(1000.0));
  }
  EXPECT_NEAR(exponential / n, 5.0, 0.2);
  EXPECT_NEAR(small / n, 4.0, 0.1);
  EXPECT_NEAR(large / n, 1000.0, 2.0);
}

}  // namespace
}  // namespace weft
