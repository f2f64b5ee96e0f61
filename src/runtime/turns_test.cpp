// SPDX-License-Identifier: Apache-2.0
#include "runtime/turns.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

constexpr Duration message = Duration::microseconds(12);
/// A yield to another process lasts that long, and one to nobody.
constexpr Duration other = Duration::microseconds(2);
constexpr Duration nobody = Duration::nanoseconds(400);

/// Waits that end after one yield each, as those of two drivers on one core do. Returns how many of
/// them yielded at once.
int take_turns(Turns& turns, Instant& now, int times) {
  int at_once = 0;
  for (int i = 0; i < times; ++i) {
    now = now + message;
    at_once += turns.begin(now) ? 1 : 0;
    turns.yielded(other);
    turns.ended();
  }
  return at_once;
}

TEST(turns, a_driver_whose_waits_end_after_their_first_yield_yields_at_once) {
  Turns turns;
  Instant now = Instant{} + Duration::seconds(5);
  take_turns(turns, now, 5);
  EXPECT_GT(take_turns(turns, now, 1'000), 950);
}

TEST(turns, a_driver_polls_first_again_when_its_peer_runs_elsewhere) {
  Turns turns;
  Instant now = Instant{} + Duration::seconds(5);
  take_turns(turns, now, 1'000);
  int trials = 0;
  for (int i = 0; i < 1'000; ++i) {
    now = now + message;
    if (turns.begin(now)) {
      turns.yielded(other);
    } else {
      ++trials;
    }
    turns.ended();
  }
  EXPECT_GT(trials, 800);
}

TEST(turns, waits_that_end_before_a_yield_or_after_many_keep_polling) {
  Turns turns;
  Instant now = Instant{} + Duration::seconds(5);
  for (int i = 0; i < 1'000; ++i) {
    now = now + message;
    EXPECT_FALSE(turns.begin(now));
    for (int yields = i % 3 == 1 ? 1 : i % 3 * 2; yields > 0; --yields) turns.yielded(other);
    turns.ended();
  }
}

TEST(turns, yields_to_nobody_are_no_turns) {
  Turns turns;
  Instant now = Instant{} + Duration::seconds(5);
  for (int i = 0; i < 1'000; ++i) {
    now = now + message;
    EXPECT_FALSE(turns.begin(now));
    turns.yielded(nobody);
    turns.ended();
  }
}

}  // namespace
}  // namespace weft
