// SPDX-License-Identifier: Apache-2.0
#include "stream/shm/copy_ring.hpp"

#include <gtest/gtest.h>

#include <map>

#include "base/rng.hpp"

namespace weft::shm {
namespace {

TEST(copy_ring, room_is_made_in_ring_order) {
  auto ring = CopyRing::create(ByteCount(4096), "test");
  ASSERT_TRUE(ring.ok());
  const auto a = ring->take(2048);
  const auto b = ring->take(1024);
  const auto c = ring->take(1024);
  ASSERT_TRUE(a && b && c);
  EXPECT_FALSE(ring->take(1).has_value());
  ring->free(*b);
  EXPECT_FALSE(ring->take(1).has_value()) << "the first block still is in the way";
  ring->free(*a);
  EXPECT_TRUE(ring->take(3072).has_value());
}

TEST(copy_ring, whole_capacity_can_be_taken_and_not_a_byte_more) {
  auto ring = CopyRing::create(ByteCount(4096), "test");
  ASSERT_TRUE(ring.ok());
  EXPECT_FALSE(ring->take(4097).has_value());
  EXPECT_FALSE(ring->take(~std::size_t{0}).has_value());
  const auto all = ring->take(4096);
  ASSERT_TRUE(all.has_value());
  EXPECT_FALSE(ring->take(0).has_value());
  ring->free(*all);
  EXPECT_TRUE(ring->empty());
}

TEST(copy_ring, random_blocks_never_overlap) {
  constexpr std::uint64_t seed = 42;
  SCOPED_TRACE(seed);
  Rng rng(seed);
  auto ring = CopyRing::create(ByteCount(4096), "test");
  ASSERT_TRUE(ring.ok());
  std::map<std::uint64_t, std::pair<std::size_t, std::byte>> blocks;
  for (int step = 0; step < 20'000; ++step) {
    if (rng.below(2) == 0) {
      const std::size_t size = rng.below(1500);
      const auto position = ring->take(size);
      if (!position) continue;
      const auto mark = static_cast<std::byte>(step);
      for (std::byte& b : ring->at(*position, size)) b = mark;
      ASSERT_TRUE(blocks.emplace(*position, std::pair(size, mark)).second);
    } else if (!blocks.empty()) {
      const auto block = std::next(blocks.begin(), static_cast<long>(rng.below(blocks.size())));
      const auto [size, mark] = block->second;
      for (const std::byte b : ring->at(block->first, size)) ASSERT_EQ(b, mark) << step;
      ring->free(block->first);
      blocks.erase(block);
    }
  }
}

}  // namespace
}  // namespace weft::shm
