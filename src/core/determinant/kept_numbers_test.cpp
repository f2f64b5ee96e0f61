// SPDX-License-Identifier: Apache-2.0
#include "core/determinant/kept_numbers.hpp"

#include <gtest/gtest.h>

#include <array>

namespace weft::determinant {
namespace {

using Memory = std::array<std::uint64_t, KeptNumbers::bytes / 8>;

TEST(kept_numbers, those_of_earlier_beginnings_are_known) {
  Memory memory{};
  {
    KeptNumbers numbers(std::as_writable_bytes(std::span(memory)));
    numbers.keep(7);
    EXPECT_TRUE(numbers.has(7));
    EXPECT_FALSE(numbers.is_of_earlier(7)) << "the job has not begun again";
  }
  KeptNumbers numbers(std::as_writable_bytes(std::span(memory)));
  EXPECT_FALSE(numbers.is_of_earlier(7)) << "another life of the same beginning";
  numbers.begin_again();
  numbers.keep(8);
  EXPECT_TRUE(numbers.has(7) && numbers.has(8));
  EXPECT_TRUE(numbers.may_be_of_earlier(7));
  EXPECT_FALSE(numbers.may_be_of_earlier(8));
  EXPECT_TRUE(numbers.is_of_earlier(7));
}

TEST(kept_numbers, any_may_be_of_earlier_when_there_were_too_many) {
  constexpr std::uint64_t one_more = KeptNumbers::most;
  Memory memory{};
  KeptNumbers numbers(std::as_writable_bytes(std::span(memory)));
  for (std::uint64_t i = 0; i < KeptNumbers::most; ++i) {
    numbers.keep(i);
    numbers.keep(i);  // is no second one
  }
  numbers.begin_again();
  EXPECT_TRUE(numbers.may_be_of_earlier(KeptNumbers::most - 1));
  EXPECT_FALSE(numbers.may_be_of_earlier(one_more));
  numbers.keep(one_more);
  EXPECT_FALSE(numbers.has(one_more));
  EXPECT_FALSE(numbers.may_be_of_earlier(one_more));
  numbers.begin_again();
  EXPECT_TRUE(numbers.may_be_of_earlier(one_more));
  EXPECT_FALSE(numbers.is_of_earlier(one_more));
}

TEST(kept_numbers, any_may_be_of_earlier_when_those_were_lost) {
  Memory memory{};
  KeptNumbers numbers(std::as_writable_bytes(std::span(memory)));
  numbers.begin_again_without();
  EXPECT_TRUE(numbers.may_be_of_earlier(7));
  EXPECT_FALSE(numbers.is_of_earlier(7));
  numbers.keep(8);
  numbers.begin_again();
  EXPECT_TRUE(numbers.may_be_of_earlier(7)) << "they are lost for good";
}

}  // namespace
}  // namespace weft::determinant
