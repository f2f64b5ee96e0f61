// SPDX-License-Identifier: Apache-2.0
#include "mpi/object/fold.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
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

TEST(fold, pairs_with_a_gap_in_memory_travel_without_it) {
  const auto pair = [](double value, int place) {
    std::array<std::byte, sizeof value + sizeof place> bytes;
    std::memcpy(bytes.data(), &value, sizeof value);
    std::memcpy(bytes.data() + sizeof value, &place, sizeof place);
    return bytes;
  };
  const std::array in{pair(1.5, 3), pair(7, 1)};
  std::array inout{pair(2.5, 4), pair(7, 2)};
  EXPECT_TRUE(fold(Fold::min_place, Basic::pair_double_int, in.data(), inout.data(), 2));
  EXPECT_EQ(inout, in);
  EXPECT_FALSE(fold(Fold::sum, Basic::pair_double_int, in.data(), inout.data(), 2));
}

TEST(fold, numbers_of_128_bits_keep_all_of_them) {
  const Quad in[] = {Quad(1) / 3, -2};
  Quad inout[] = {Quad(1) / 3, 5};
  EXPECT_TRUE(fold(Fold::sum, Basic::float_quad, in, inout, 2));
  EXPECT_TRUE(inout[0] == Quad(2) / 3 && inout[1] == 3);
  // (1/3 − 2i)²
  Quad squared[] = {in[0], in[1]};
  EXPECT_TRUE(fold(Fold::product, Basic::complex_quad, in, squared, 1));
  EXPECT_TRUE(squared[0] == in[0] * in[0] - 4 && squared[1] == 2 * (in[0] * -2));
  EXPECT_TRUE(fold(Fold::max, Basic::float_quad, in, inout, 1));
  EXPECT_TRUE(inout[0] == Quad(2) / 3);
}

TEST(fold, numbers_of_128_bits_lie_at_any_place) {
  const Quad values[] = {Quad(1) / 3, -2};
  alignas(16) std::array<std::byte, 8 + sizeof values> in{}, inout{};
  std::memcpy(in.data() + 8, values, sizeof values);
  std::memcpy(inout.data() + 8, values, sizeof values);
  Quad result[2];
  EXPECT_TRUE(fold(Fold::sum, Basic::float_quad, in.data() + 8, inout.data() + 8, 2));
  std::memcpy(result, inout.data() + 8, sizeof result);
  EXPECT_TRUE(result[0] == Quad(2) / 3 && result[1] == -4);
  EXPECT_TRUE(fold(Fold::product, Basic::complex_quad, in.data() + 8, inout.data() + 8, 1));
}

TEST(fold, numbers_with_fractions_have_logical_operations) {
  const std::array<float, 2> in{0.5F, 0};
  std::array<float, 2> inout{0, 0};
  EXPECT_TRUE(fold(Fold::logical_xor, Basic::float32, in.data(), inout.data(), 2));
  EXPECT_EQ(inout, (std::array<float, 2>{1, 0}));
}

TEST(fold, says_what_is_not_defined) {
  double value = 1;
  EXPECT_FALSE(fold(Fold::bit_and, Basic::float64, &value, &value, 1));
  EXPECT_FALSE(fold(Fold::max, Basic::complex64, &value, &value, 0));
  EXPECT_FALSE(fold(Fold::min_place, Basic::int32, &value, &value, 1));
  EXPECT_FALSE(fold(Fold::max, Basic::bytes, &value, &value, 1));
  EXPECT_TRUE(fold(Fold::bit_and, Basic::bytes, &value, &value, 1));
  EXPECT_FALSE(fold(Fold::sum, Basic::float16, &value, &value, 1));
  EXPECT_FALSE(fold(Fold::product, Basic::two_complex32, &value, &value, 0));
}

}  // namespace
}  // namespace weft::mpi
