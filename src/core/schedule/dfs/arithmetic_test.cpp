// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/dfs/arithmetic.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace weft::schedule::dfs {
namespace {

std::int64_t median_of(std::vector<std::int64_t> values) {
  return median(values);
}

TEST(median, is_the_middle_of_an_odd_number) {
  EXPECT_EQ(median_of({7}), 7);
  EXPECT_EQ(median_of({9, 1, 5}), 5);
  EXPECT_EQ(median_of({1000, 3, 2, 1, 4}), 3);
}

TEST(median, is_the_mean_of_the_middle_two_of_an_even_number) {
  EXPECT_EQ(median_of({1, 3}), 2);
  EXPECT_EQ(median_of({100, 1, 3, 2}), 2);  // (2 + 3) / 2 toward zero
  EXPECT_EQ(median_of({-4, -7, -5, 100}), -4);
}

TEST(median, does_not_overflow) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(median_of({most, most}), most);
}

TEST(scale, keeps_all_bits_in_between) {
  // 2^45 = 35'184'372'088'832; 95 % of it is 33'425'153'484'390.4.
  EXPECT_EQ(scale(longest_duration.ticks(), 9'500, 10'000), 33'425'153'484'390);
  EXPECT_EQ(basis_points(5.0), 500);
  EXPECT_EQ(basis_points(2.55), 255);
}

}  // namespace
}  // namespace weft::schedule::dfs
