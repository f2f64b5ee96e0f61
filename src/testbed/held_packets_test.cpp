// SPDX-License-Identifier: Apache-2.0
#include "testbed/held_packets.hpp"

#include <gtest/gtest.h>

#include <array>

namespace weft::testbed {
namespace {

TEST(held_packets, each_keeps_its_bytes_and_its_time_in_the_order_of_arrival) {
  HeldPackets held;
  EXPECT_EQ(held.next_due(), Instant::never());
  const std::array<std::byte, 3> bytes{std::byte{1}, std::byte{2}, std::byte{3}};
  // Many rounds, so that memory of packets that left is used again, for others of another length.
  for (int round = 0; round < 100; ++round) {
    held.push(Instant(10), bytes);
    held.push(Instant(20), std::span(bytes).first(1));
    EXPECT_EQ(held.next_due(), Instant(10));
    EXPECT_EQ(held.first().size(), 3U);
    EXPECT_EQ(held.first()[2], std::byte{3});
    held.pop();
    EXPECT_EQ(held.next_due(), Instant(20));
    EXPECT_EQ(held.first().size(), 1U);
    held.pop();
    EXPECT_TRUE(held.empty());
  }
}

}  // namespace
}  // namespace weft::testbed
