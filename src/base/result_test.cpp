// SPDX-License-Identifier: Apache-2.0
#include "weft/result.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace weft {
namespace {

TEST(result, holds_a_value_or_an_error) {
  Result<int> good = 7;
  Result<int> bad = Error{ErrorCode::not_found, "no such file"};
  ASSERT_TRUE(good);
  EXPECT_EQ(*good, 7);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, ErrorCode::not_found);
}

TEST(result, moves_values_that_cannot_be_copied) {
  Result<std::unique_ptr<int>> r = std::make_unique<int>(3);
  const std::unique_ptr<int> p = std::move(r).value();
  EXPECT_EQ(*p, 3);
}

TEST(result, void_is_fine_unless_it_has_an_error) {
  const Result<void> fine;
  const Result<void> broken = Error{ErrorCode::io, "disk full"};
  EXPECT_TRUE(fine.ok());
  EXPECT_EQ(broken.error().message, "disk full");
}

}  // namespace
}  // namespace weft
