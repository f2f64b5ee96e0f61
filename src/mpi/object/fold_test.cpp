// SPDX-License-Identifier: Apache-2.0
#include "mpi/object/fold.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>

namespace weft::mpi {
namespace {

TEST(fold, sums_of_integers_wrap_around) {
  const std::int32_t in = std::numeric_limits<std::int32_t>::max();
  std::int32_t inout = 1;
  EXPECT_TRUE(fold(Fold::sum, Basic::int32, &in, &inout, 1));
  EXPECT_EQ(inout, std::numeric_limits<std::int32_t>::min());
}

TEST(fold, of_equal_values_the_lower_place_counts) {
  const std::array<int, 4> in{7, 2, 5, 0};
  std::array<int, 4> inout{7, 1, 9, 1};
  EXPECT_TRUE(fold(Fold::max_place, Basic::pair_int_int, in.data(), inout.data(), 2));
  EXPECT_EQ(inout, (std::array<int, 4>{7, 1, 9, 1}));
  EXPECT_TRUE(fold(Fold::min_place, Basic::pair_int_int, in.data(), inout.data(), 2));
  EXPECT_EQ(inout, (std::array<int, 4>{7, 1, 5, 0}));
}

TEST(fold, says_what_is_not_defined) {
  double value = 1;
  EXPECT_FALSE(fold(Fold::bit_and, Basic::float64, &value, &value, 1));
  EXPECT_FALSE(fold(Fold::max, Basic::complex64, &value, &value, 0));
  EXPECT_FALSE(fold(Fold::min_place, Basic::int32, &value, &value, 1));
}

}  // namespace
}  // namespace weft::mpi
