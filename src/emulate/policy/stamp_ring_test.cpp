// SPDX-License-Identifier: Apache-2.0
#include "emulate/policy/stamp_ring.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

namespace weft::emulate {
namespace {

TEST(stamp_ring, the_nth_stamp_is_the_nth_messages) {
  const auto ring = std::make_unique<StampRing>();
  SentStamp stamp{};
  EXPECT_FALSE(ring->read(0, stamp));
  ring->push({10, 11});
  ring->push({20, 22});
  ASSERT_TRUE(ring->read(1, stamp));
  EXPECT_EQ(stamp.sent, 20);
  EXPECT_EQ(stamp.departure, 22);
  EXPECT_FALSE(ring->read(2, stamp));
}

TEST(stamp_ring, stamps_that_the_receiver_is_late_for_are_gone) {
  const auto ring = std::make_unique<StampRing>();
  const auto count = static_cast<Picoseconds>(StampRing::kPlaces);
  for (Picoseconds i = 0; i < 2 * count; ++i) ring->push({i, i});
  SentStamp stamp{};
  EXPECT_FALSE(ring->read(0, stamp));
  EXPECT_FALSE(ring->read(StampRing::kPlaces, stamp));
  ASSERT_TRUE(ring->read(2 * StampRing::kPlaces - 1, stamp));
  EXPECT_EQ(stamp.sent, 2 * count - 1);
}

TEST(stamp_ring, what_was_taken_back_is_pushed_anew) {
  const auto ring = std::make_unique<StampRing>();
  ring->push({1, 1});
  ring->push({2, 2});
  ring->take_back(1);
  SentStamp stamp{};
  EXPECT_FALSE(ring->read(1, stamp));
  ring->push({3, 3});
  ASSERT_TRUE(ring->read(1, stamp));
  EXPECT_EQ(stamp.sent, 3);
}

TEST(stamp_ring, a_receiver_never_reads_half_a_stamp) {
  const auto ring = std::make_unique<StampRing>();
  constexpr Picoseconds kMessages = 200'000;
  std::thread sender([&] {
    for (Picoseconds i = 0; i < kMessages; ++i) ring->push({i, 2 * i});
  });
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    SentStamp stamp{};
    if (!ring->read(i, stamp)) continue;
    ASSERT_EQ(stamp.sent, static_cast<Picoseconds>(i));
    ASSERT_EQ(stamp.departure, static_cast<Picoseconds>(2 * i));
  }
  sender.join();
}

}  // namespace
}  // namespace weft::emulate
