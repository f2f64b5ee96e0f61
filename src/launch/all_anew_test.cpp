// SPDX-License-Identifier: Apache-2.0
#include "launch/all_anew.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

namespace weft {
namespace {

constexpr RankLives::End killed{.code = 137, .was_killed = true};

RankLives running() {
  RankLives lives(2, {.restart = true, .most_restarts = 10});
  for (std::uint32_t i = 0; i < 2; ++i) {
    lives.begin(i);
    lives.on_joined(i);
  }
  return lives;
}

TEST(all_anew, goes_over_when_a_rank_cannot_keep_its_messages_and_says_so_once) {
  RankLives lives = running();
  AllAnew all(-1);
  EXPECT_FALSE(all.go_over(lives).has_value());
  all.cannot_keep(1, "tkeeps too much");
  all.cannot_keep(0, "tdoes, too");
  const auto line = all.go_over(lives);
  ASSERT_TRUE(line.has_value());
  EXPECT_NE(line->find("rank 1 keeps too much: from now on"), std::string::npos) << *line;
  EXPECT_TRUE(lives.restarts_all());
  EXPECT_FALSE(all.go_over(lives).has_value());
}

TEST(all_anew, waits_until_a_later_life_has_joined) {
  RankLives lives = running();
  AllAnew all(-1);
  all.cannot_keep(1, "tkeeps too much");
  EXPECT_EQ(lives.on_end(0, killed), RankLives::Next::start_anew);
  EXPECT_FALSE(all.go_over(lives).has_value()) << "it is to be started";
  lives.begin(0);
  EXPECT_FALSE(all.go_over(lives).has_value()) << "the life before may still run elsewhere";
  lives.on_joined(0);
  EXPECT_TRUE(all.go_over(lives).has_value());
}

TEST(all_anew, keeps_messages_where_all_would_lose_their_input) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
  ASSERT_EQ(::write(pipe[1], "42\n", 3), 3);
  RankLives lives = running();
  AllAnew all(pipe[0]);
  all.cannot_keep(1, "tkeeps too much");
  EXPECT_FALSE(all.go_over(lives).has_value());
  EXPECT_TRUE(all.on_start(1, lives));
  all.cannot_keep(0, "mhas no room");
  const auto line = all.go_over(lives);
  ASSERT_TRUE(line.has_value()) << "else it would wait for ever";
  EXPECT_NE(line->find("rank 0 has no room"), std::string::npos) << *line;
  EXPECT_FALSE(all.on_start(0, lives)) << "it reads the input";
  EXPECT_FALSE(all.on_start(1, lives));
  ::close(pipe[0]);
  ::close(pipe[1]);
}

TEST(all_anew, counts_the_times_at_which_all_begin_from_nothing) {
  RankLives lives = running();
  AllAnew all(-1);
  EXPECT_TRUE(all.on_start(0, lives));
  EXPECT_EQ(all.attempt(), 0u);
  EXPECT_TRUE(all.begin_from_nothing(1, lives, "rank 1 differs").has_value());
  EXPECT_FALSE(all.begin_from_nothing(0, lives, "rank 0 does, too").has_value());
  EXPECT_TRUE(all.on_start(0, lives));
  EXPECT_EQ(all.attempt(), 2u);
  EXPECT_TRUE(all.on_start(1, lives));
  EXPECT_EQ(all.attempt(), 3u) << "what those lives recorded is void as well";
}

}  // namespace
}  // namespace weft
