// SPDX-License-Identifier: Apache-2.0
#include "base/polling_pace.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

constexpr Instant begin = Instant{} + Duration::seconds(1);

Duration silence_until_due(const PollingPace& pace, Instant asked) {
  Duration waited{};
  while (!pace.is_due(asked + waited)) waited = waited + Duration::microseconds(1);
  return waited;
}

TEST(polling_pace, asks_the_silent_ever_more_seldom_up_to_a_bound) {
  PollingPace pace(Duration::microseconds(2), Duration::microseconds(9));
  EXPECT_TRUE(pace.is_due(begin)) << "nobody has asked yet";
  for (const int expected : {2, 4, 8, 9, 9}) {
    pace.asked(begin, false);
    EXPECT_EQ(silence_until_due(pace, begin), Duration::microseconds(expected));
  }
}

TEST(polling_pace, asks_again_at_once_what_had_something_to_say) {
  PollingPace pace(Duration::microseconds(2), Duration::microseconds(64));
  for (int i = 0; i < 5; ++i) pace.asked(begin, false);
  pace.asked(begin, true);
  EXPECT_TRUE(pace.is_due(begin));
  pace.asked(begin, false);
  EXPECT_EQ(silence_until_due(pace, begin), Duration::microseconds(2));
}

TEST(polling_pace, asks_at_once_what_is_expected_to_say_something) {
  PollingPace pace(Duration::microseconds(2), Duration::microseconds(64));
  for (int i = 0; i < 5; ++i) pace.asked(begin, false);
  EXPECT_FALSE(pace.is_due(begin));
  pace.expect_something();
  EXPECT_TRUE(pace.is_due(begin));
}

}  // namespace
}  // namespace weft
