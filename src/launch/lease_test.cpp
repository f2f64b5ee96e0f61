// SPDX-License-Identifier: Apache-2.0
#include "launch/lease.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <random>

namespace weft {
namespace {

constexpr Duration second = Duration::seconds(1);
constexpr Duration patience = Duration::seconds(10);

TEST(lease, runs_from_when_the_word_that_came_back_was_said) {
  const Instant begin = Instant{} + second * 100;
  Lease lease(lease_within(patience), begin);
  const std::string word = Lease::word(begin + second);
  lease.on_return(word, begin + second * 4);
  EXPECT_EQ(lease.ends(), begin + second + lease_within(patience));
  lease.on_return(Lease::word(begin), begin + second * 5);
  EXPECT_EQ(lease.ends(), begin + second + lease_within(patience)) << "an older word";
  for (const char* nonsense : {"", "x", "1x", "99999999999999999999999"}) {
    lease.on_return(nonsense, begin + second * 5);
  }
  lease.on_return(Lease::word(begin + second * 50), begin + second * 5);
  EXPECT_EQ(lease.ends(), begin + second * 5 + lease_within(patience)) << "not of the future";
}

/// Two ends that speak each second over a network that delays and falls silent in either direction.
TEST(lease, is_over_before_the_launcher_gives_the_agent_up_whatever_the_network_does) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const auto draw = [&](int below) { return std::uniform_int_distribution(0, below - 1)(random); };
  struct Word {
    Instant arrives;
    std::string text;
  };
  for (int run = 0; run < 1000; ++run) {
    const Duration step = Duration::milliseconds(100);
    Instant now = Instant{} + second * 1000, heard = now;
    Lease lease(lease_within(patience), now);
    std::deque<Word> to_launcher, to_agent;
    Instant silent_up = now + second * draw(30), silent_down = now + second * draw(30);
    bool given_up = false;
    for (int turn = 0; turn < 600 && !given_up; ++turn, now = now + step) {
      if (turn % 10 == 0 && now < lease.ends() && now < silent_up) {
        to_launcher.push_back({now + step * draw(40), Lease::word(now)});
      }
      while (!to_launcher.empty() && to_launcher.front().arrives <= now) {
        heard = now;
        if (now < silent_down)
          to_agent.push_back({now + step * draw(40), to_launcher.front().text});
        to_launcher.pop_front();
      }
      while (!to_agent.empty() && to_agent.front().arrives <= now) {
        if (now < lease.ends()) lease.on_return(to_agent.front().text, now);
        to_agent.pop_front();
      }
      given_up = now - heard > patience;
    }
    ASSERT_TRUE(given_up) << "run " << run;
    ASSERT_LT(lease.ends() + second * 3, now) << "run " << run;
  }
}

}  // namespace
}  // namespace weft
