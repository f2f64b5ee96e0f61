// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/grant_together.hpp"

#include <gtest/gtest.h>

namespace weft::schedule {
namespace {

Instant ms(std::int64_t n) {
  return Instant{} + Duration::milliseconds(n);
}

TEST(granted_together, asks_at_once_while_nothing_is_known) {
  GrantTogether together;
  EXPECT_EQ(together.opens(0), Instant{});
  together.on_slow_arrival(ms(10), 0);
  EXPECT_EQ(together.opens(1), Instant{});
}

TEST(granted_together, opens_a_round_so_late_that_it_ends_when_the_slow_one_is_due) {
  GrantTogether together;
  together.on_slow_arrival(ms(100), 0);
  together.on_grant(ms(100), 1);
  together.on_arrival(ms(120), 1);
  together.on_arrival(ms(140), 1);       // 40 ms to collect a round
  together.on_slow_arrival(ms(200), 1);  // every 100 ms
  together.on_grant(ms(200), 2);
  together.on_slow_arrival(ms(300), 2);
  // Due at 400 ms; 40 ms and a quarter of that before.
  EXPECT_EQ(together.opens(3), ms(350));
  EXPECT_EQ(together.opens(4), ms(450));
  together.on_grant(ms(350), 3);
  EXPECT_EQ(together.opens(3), Instant{}) << "a round that is open stays so";
}

TEST(granted_together, the_time_of_rounds_that_were_given_up_is_not_that_of_one) {
  GrantTogether together;
  together.on_slow_arrival(ms(100), 0);
  together.on_grant(ms(100), 1);
  together.on_arrival(ms(140), 1);       // 40 ms to collect a round
  together.on_slow_arrival(ms(200), 1);  // every 100 ms
  together.on_grant(ms(200), 2);
  together.on_slow_arrival(ms(600), 5);  // rounds 2, 3 and 4 were given up
  EXPECT_EQ(together.opens(6), ms(650)) << "due at 700 ms, as before";
}

TEST(granted_together, a_restart_forgets) {
  GrantTogether together;
  together.on_slow_arrival(ms(100), 0);
  together.on_slow_arrival(ms(200), 1);
  together.on_grant(ms(200), 1);
  together.on_arrival(ms(220), 1);
  together.on_grant(ms(230), 2);
  ASSERT_GT(together.opens(3), Instant{});
  together.restart();
  EXPECT_EQ(together.opens(3), Instant{});
}

}  // namespace
}  // namespace weft::schedule
