// SPDX-License-Identifier: Apache-2.0
#include "base/free_list.hpp"

#include <gtest/gtest.h>

#include <array>

#include "base/message_copy.hpp"

namespace weft {
namespace {

struct Item {
  Item* next = nullptr;
  int cleared = 0;
  void clear() { ++cleared; }
};

TEST(free_list, hands_out_its_capacity_and_clears_what_comes_back) {
  FreeList<Item> list(2);
  Item& a = list.take();
  Item& b = list.take();
  EXPECT_EQ(&a, &list.all()[0]);
  EXPECT_EQ(&b, &list.all()[1]);
  EXPECT_EQ(a.next, nullptr);
  EXPECT_TRUE(list.empty());
  EXPECT_DEATH(list.take(), "");
  list.give(a);
  EXPECT_EQ(a.cleared, 1);
  EXPECT_FALSE(list.empty());
  EXPECT_EQ(&list.take(), &a);
}

TEST(message_copy, holds_segments_one_behind_the_other) {
  std::array<std::byte, 3> first{std::byte{1}, std::byte{2}, std::byte{3}};
  std::array<std::byte, 1> second{std::byte{4}};
  MessageCopy copy;
  const auto bytes = copy.take(std::array<std::span<const std::byte>, 2>{first, second});
  first = {};
  ASSERT_EQ(bytes.size(), 4u);
  EXPECT_EQ(bytes[0], std::byte{1});
  EXPECT_EQ(bytes[3], std::byte{4});
}

}  // namespace
}  // namespace weft
