// SPDX-License-Identifier: Apache-2.0
#include "emulate/policy/stamp.hpp"

#include <gtest/gtest.h>

namespace weft::emulate {
namespace {

TEST(stamp, keeps_what_a_sender_tells_to_a_nanosecond) {
  const Sending sending{.sent = 123'456'789'012, .rank = 255, .lag = 2'500'000, .drain = 7'000'001};
  const Sending read = unpack(pack(sending));
  EXPECT_EQ(read.sent, sending.sent);
  EXPECT_EQ(read.rank, sending.rank);
  EXPECT_GE(read.lag, sending.lag);
  EXPECT_LT(read.lag, sending.lag + 1'024);
  EXPECT_GE(read.drain, sending.drain);
  EXPECT_LT(read.drain, sending.drain + 1'024);
}

TEST(stamp, neither_lag_nor_drain_spill_into_their_neighbours) {
  const Sending read =
      unpack(pack({.sent = 1, .rank = kUnknownRank, .lag = 2 * kMostLag, .drain = 2 * kMostDrain}));
  EXPECT_EQ(read.rank, kUnknownRank);
  EXPECT_EQ(read.lag, kMostLag);
  EXPECT_EQ(read.drain, kMostDrain);
  const Sending negative = unpack(pack({.sent = 1, .rank = 3, .lag = -1, .drain = -5'000}));
  EXPECT_EQ(negative.rank, 3U);
  EXPECT_EQ(negative.lag + negative.drain, 0);
}

TEST(sender_lag, grows_with_a_burst_and_is_gone_once_the_program_has_waited_for_as_long) {
  SenderLag lag;
  for (int i = 0; i < 10; ++i) lag.sent(50'000);
  EXPECT_EQ(lag.value(), 500'000);
  lag.looked_in_vain(900'000);  // the burst lay between the two looks
  EXPECT_EQ(lag.value(), 500'000);
  lag.looked_in_vain(200'000);
  EXPECT_EQ(lag.value(), 300'000);
  lag.looked_in_vain(400'000);
  EXPECT_EQ(lag.value(), 0);
}

TEST(sender_lag, has_a_bound) {
  SenderLag lag;
  for (int i = 0; i < 10; ++i) lag.sent(kMostLag / 2);
  EXPECT_EQ(lag.value(), kMostLag);
}

}  // namespace
}  // namespace weft::emulate
