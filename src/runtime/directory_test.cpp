// SPDX-License-Identifier: Apache-2.0
#include "runtime/directory.hpp"

#include <gtest/gtest.h>

#include <map>

namespace weft {
namespace {

TEST(directory, tells_a_new_life_of_all_others_and_them_of_it) {
  Directory directory(3);
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(directory.begin(i), Incarnation(1));
  directory.set_address(0, "a");
  directory.set_address(1, "b");
  EXPECT_EQ(directory.begin(1), Incarnation(2));
  directory.set_address(1, "c");
  std::map<std::uint32_t, std::string> told;
  directory.introduce(1, [&](std::uint32_t node, const std::string& lines) { told[node] = lines; });
  EXPECT_EQ(told, (std::map<std::uint32_t, std::string>{{0, "1 2 c\n"}, {1, "0 1 a\n"}}));
}

TEST(directory, names_those_that_are_not_in_their_first_life) {
  Directory directory(4);
  for (const std::uint32_t node : {0, 1, 2, 3, 1, 3, 3}) directory.begin(node);
  EXPECT_EQ(directory.later_lives(), "1 2 3 3 ");
}

TEST(directory, knows_nothing_of_where_a_life_that_ended_was) {
  Directory directory(2);
  directory.begin(0);
  directory.set_address(0, "a");
  EXPECT_TRUE(directory.knows(0));
  directory.forget(0);
  EXPECT_FALSE(directory.knows(0));
  EXPECT_EQ(directory.lines_of_others(1), "");
}

}  // namespace
}  // namespace weft
