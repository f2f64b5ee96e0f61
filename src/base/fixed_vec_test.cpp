// SPDX-License-Identifier: Apache-2.0
#include "base/fixed_vec.hpp"

#include <gtest/gtest.h>

#include <string>

namespace weft {
namespace {

TEST(fixed_vec, keeps_order_when_the_front_is_dropped) {
  FixedVec<int> v(4);
  for (int i = 0; i < 4; ++i) v.push_back(i);
  EXPECT_TRUE(v.full());
  v.drop_front(3);
  ASSERT_EQ(v.size(), 1u);
  EXPECT_EQ(v[0], 3);
  EXPECT_EQ(v.room(), 3u);
}

TEST(fixed_vec, constructs_what_is_more_than_bytes) {
  FixedVec<std::string> v(3);
  v.push_back("a text that is too long to lie in the string itself");
  v.push_back(std::string(1, 'b'));
  v.drop_front(1);
  FixedVec<std::string> moved = std::move(v);
  ASSERT_EQ(moved.size(), 1u);
  EXPECT_EQ(moved[0], "b");
  moved.extend(1);
  moved[1] = std::string(1, 'c');
  EXPECT_EQ(moved.view().back(), "c");
}

TEST(fixed_vec_death, overflow_aborts_in_every_build) {
  FixedVec<int> v(1);
  v.push_back(1);
  EXPECT_DEATH(v.push_back(2), "FixedVec of 1 is full");
}

}  // namespace
}  // namespace weft
