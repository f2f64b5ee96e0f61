// SPDX-License-Identifier: Apache-2.0
#include "launch/rank_output.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

struct Printed {
  RankOutput output;
  std::string text;
  void take(std::string_view bytes) {
    output.take(bytes, [&](std::string_view part) { text += part; });
  }
  void end(bool repeats) {
    output.end_life(repeats, [&](std::string_view part) { text += part; });
  }
};

/// The second life of a rank whose first one printed two lines has printed one.
Printed second_life() {
  Printed printed;
  printed.output.begin_life(true);
  printed.take("one\ntwo\n");
  printed.end(true);
  printed.output.begin_life(true);
  printed.take("one\n");
  return printed;
}

TEST(rank_output, prints_each_line_of_several_lives_once) {
  Printed printed;
  printed.output.begin_life(true);
  printed.take("one\ntwo\nthr");
  printed.end(true);
  printed.output.begin_life(true);
  printed.take("o");
  printed.end(true);
  printed.output.begin_life(true);
  for (const char c : std::string("one\ntwo\nthree\nfour")) printed.take({&c, 1});
  EXPECT_EQ(printed.text, "one\ntwo\nthree\n");
  printed.end(false);
  EXPECT_EQ(printed.text, "one\ntwo\nthree\nfour");
  EXPECT_FALSE(printed.output.has_diverged());
}

TEST(rank_output, another_text_than_that_of_an_earlier_life_is_a_divergence) {
  Printed printed = second_life();
  EXPECT_FALSE(printed.output.has_diverged());
  printed.take("too\nthree\n");
  EXPECT_TRUE(printed.output.has_diverged());
  EXPECT_NE(printed.output.why_diverged(3).find("in its first 8 bytes"), std::string::npos);
}

TEST(rank_output, a_life_that_ends_well_and_prints_less_than_an_earlier_one_has_diverged) {
  for (const bool ends : {true, false}) {
    Printed printed = second_life();
    if (ends) printed.take("");
    EXPECT_FALSE(printed.output.has_diverged());
    printed.output.on_success();
    EXPECT_EQ(printed.output.has_diverged(), ends) << "a filter behind it may print the rest";
    const bool says = printed.output.why_diverged(0).find("only 4 of the 8") != std::string::npos;
    EXPECT_EQ(says, ends);
    printed.take("");
    EXPECT_TRUE(printed.output.has_diverged()) << "the filter has ended";
  }
}

TEST(rank_output, what_a_life_has_left_behind_prints_nothing_once_another_life_is_to_repeat_it) {
  Printed printed;
  printed.output.begin_life(true);
  printed.take("one\n");
  printed.end(true);
  printed.take("late\n");
  printed.output.begin_life(true);
  printed.take("one\ntwo\n");
  EXPECT_EQ(printed.text, "one\ntwo\n");
  EXPECT_FALSE(printed.output.has_diverged());
}

TEST(rank_output, a_life_that_does_not_repeat_itself_prints_all) {
  Printed printed;
  printed.output.begin_life(false);
  printed.take("step 1\nste");
  printed.end(false);
  printed.output.begin_life(false);
  printed.take("step 2\n");
  printed.end(false);
  EXPECT_EQ(printed.text, "step 1\nstestep 2\n");
}

}  // namespace
}  // namespace weft
