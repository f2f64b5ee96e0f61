// SPDX-License-Identifier: Apache-2.0
#include "stream/node/held_time.hpp"

#include <gtest/gtest.h>

namespace weft::stream {
namespace {

Instant at(std::int64_t ms) {
  return Instant() + Duration::milliseconds(ms);
}

TEST(held_time, tells_of_a_wait_when_it_has_lasted_and_when_it_ends) {
  HeldTime waited(Duration::seconds(1));
  EXPECT_FALSE(waited.hear(at(1000), false));
  EXPECT_FALSE(waited.hear(at(1005), true));
  EXPECT_EQ(waited.next_deadline(), at(2005));
  EXPECT_FALSE(waited.hear(at(2000), true));
  EXPECT_TRUE(waited.hear(at(2005), true));
  EXPECT_EQ(waited.next_deadline(), Instant::never());
  EXPECT_FALSE(waited.hear(at(3000), true));
  EXPECT_EQ(waited.total(), Duration::milliseconds(1995)) << "and it goes on";
  EXPECT_TRUE(waited.hear(at(4005), false));
  EXPECT_EQ(waited.total(), Duration::seconds(3));
  EXPECT_FALSE(waited.hear(at(9000), false));
  EXPECT_EQ(waited.total(), Duration::seconds(3));
}

TEST(held_time, a_short_wait_is_neither_told_nor_counted) {
  HeldTime waited(Duration::seconds(1));
  EXPECT_FALSE(waited.hear(at(0), true));
  EXPECT_FALSE(waited.hear(at(900), false));
  EXPECT_FALSE(waited.hear(at(950), true));
  EXPECT_EQ(waited.next_deadline(), at(1950)) << "a wait of its own";
  EXPECT_FALSE(waited.hear(at(1000), false));
  EXPECT_EQ(waited.total(), Duration{});
}

TEST(held_time, counts_a_wait_that_was_slept_through) {
  HeldTime waited(Duration::seconds(1));
  EXPECT_FALSE(waited.hear(at(1000), true));
  EXPECT_FALSE(waited.hear(at(4000), false)) << "it is over";
  EXPECT_EQ(waited.total(), Duration::seconds(3));
}

}  // namespace
}  // namespace weft::stream
