// SPDX-License-Identifier: Apache-2.0
#include "stream/node/held_time.hpp"

#include <gtest/gtest.h>

namespace weft::stream {
namespace {

Instant at(std::int64_t ms) {
  return Instant() + Duration::milliseconds(ms);
}

TEST(held_time, counts_a_wait_that_was_slept_through) {
  HeldTime waited;
  EXPECT_FALSE(waited.hear(at(1000), false));
  EXPECT_TRUE(waited.hear(at(1005), true));
  EXPECT_EQ(waited.total(), Duration{});
  EXPECT_TRUE(waited.hear(at(4005), false));
  EXPECT_EQ(waited.total(), Duration::seconds(3));
  EXPECT_FALSE(waited.hear(at(9000), false));
  EXPECT_EQ(waited.total(), Duration::seconds(3));
}

TEST(held_time, counts_what_still_goes_on) {
  HeldTime waited;
  EXPECT_TRUE(waited.hear(at(10), true));
  EXPECT_FALSE(waited.hear(at(30), true));
  EXPECT_EQ(waited.total(), Duration::milliseconds(20));
}

}  // namespace
}  // namespace weft::stream
