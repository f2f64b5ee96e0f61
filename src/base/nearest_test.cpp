// SPDX-License-Identifier: Apache-2.0
#include "base/nearest.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(nearest, counts_how_far_words_are_apart) {
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("stream", "stream"), 0u);
  EXPECT_EQ(edit_distance("strem", "stream"), 1u);
  EXPECT_EQ(edit_distance("steram", "stream"), 1u) << "neighbours that are swapped";
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST(nearest, finds_what_is_near_and_nothing_else) {
  const std::vector<std::string> known{"--schedule", "--schedules", "--sink", "--seed"};
  EXPECT_EQ(nearest("--shedule", known), "--schedule");
  EXPECT_EQ(nearest("--sedd", known), "--seed");
  EXPECT_EQ(nearest("--sched", known), "--schedule") << "its beginning";
  EXPECT_EQ(nearest("--colour", known), "");
  EXPECT_EQ(nearest("--SINK", known), "--sink") << "in another case";
}

TEST(nearest, of_an_unknown_key_the_likely_one_is_named_first) {
  constexpr std::string_view known[] = {"seed", "duration"};
  EXPECT_EQ(unknown_key("sede", "a scenario", known),
            "unknown key 'sede': did you mean seed? a scenario has seed, duration");
  EXPECT_EQ(unknown_key("colour", "a scenario", known),
            "unknown key 'colour'; a scenario has seed, duration");
}

}  // namespace
}  // namespace weft
