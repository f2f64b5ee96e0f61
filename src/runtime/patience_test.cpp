// SPDX-License-Identifier: Apache-2.0
#include "runtime/patience.hpp"

#include <gtest/gtest.h>

#include <set>

namespace weft {
namespace {

// Not at a time of trials.
constexpr Instant between = Instant{} + Duration::seconds(1) + Duration::microseconds(500);

/// In a wait that would begin now.
bool looks(Patience patience, Instant now) {
  return patience.begin(now) > Duration{};
}

TEST(patience, looks_as_long_as_it_does_not_know_better) {
  EXPECT_TRUE(looks(Patience{1}, between));
}

TEST(patience, stops_looking_where_it_looks_in_vain) {
  Patience patience{1};
  for (int i = 0; i < 17; ++i) patience.failed();
  EXPECT_FALSE(looks(patience, between));
}

TEST(patience, goes_on_looking_where_one_wait_in_ten_is_in_vain) {
  Patience patience{1};
  for (int i = 0; i < 1000; ++i) {
    i % 10 == 0 ? patience.failed() : patience.paid();
    EXPECT_TRUE(looks(patience, between)) << i;
  }
}

TEST(patience, stops_looking_where_every_other_wait_is_in_vain) {
  Patience patience{1};
  for (int i = 0; i < 100; ++i) i % 2 == 0 ? patience.failed() : patience.paid();
  EXPECT_FALSE(looks(patience, between));
}

TEST(patience, tries_again_at_the_same_time_in_all_processes_and_looks_on_where_it_pays) {
  Patience one{1}, other{2};
  for (int i = 0; i < 100; ++i) one.failed();
  for (int i = 0; i < 50; ++i) other.failed();
  const Instant trial = Instant{} + Duration::seconds(1);
  EXPECT_TRUE(looks(one, trial));
  EXPECT_TRUE(looks(other, trial));
  for (int i = 0; i < 32; ++i) one.paid();
  EXPECT_TRUE(looks(one, between));
  EXPECT_FALSE(looks(other, between));
}

TEST(patience, judges_the_first_waits_after_a_switch_apart) {
  Patience patience{1};
  for (int i = 0; i < 20; ++i) {
    patience.gave_way();
    (void)patience.begin(between);
    patience.paid();
    if (patience.begin(between) > Duration{}) patience.failed();
  }
  patience.gave_way();
  EXPECT_GT(patience.begin(between), Duration{});
  EXPECT_EQ(patience.begin(between), Duration{});
  for (int i = 0; i < 10; ++i) EXPECT_GT(patience.begin(between), Duration{}) << i;
}

TEST(patience, takes_a_long_row_of_waits_as_worth_the_looks_before_it) {
  Patience patience{1};
  for (int i = 0; i < 20; ++i) {
    // Four first looks are in vain, and the fifth finds a peer that then stays.
    for (int k = 0; k < 4; ++k) {
      patience.gave_way();
      EXPECT_GT(patience.begin(between), Duration{}) << i;
      patience.failed();
    }
    patience.gave_way();
    for (int k = 0; k < 100; ++k) {
      (void)patience.begin(between);
      patience.paid();
    }
  }
}

TEST(patience, looks_longer_now_and_then_but_not_when_another_process_does) {
  Patience one{1}, other{2};
  std::set<Duration> lengths;
  int at_odds = 0;
  for (int i = 0; i < 64; ++i) {
    const Duration length = one.begin(between);
    lengths.insert(length);
    at_odds += length != other.begin(between);
  }
  EXPECT_EQ(lengths.size(), 2U);
  EXPECT_GT(at_odds, 16);
  EXPECT_GT(*lengths.rbegin(), *lengths.begin() * 3);
}

}  // namespace
}  // namespace weft
