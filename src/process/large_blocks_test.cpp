// SPDX-License-Identifier: Apache-2.0
#include "process/large_blocks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/rng.hpp"

namespace weft {
namespace {

TEST(large_blocks, keep_their_bytes_whatever_is_taken_and_given_back) {
  struct Block {
    std::byte* memory;
    std::size_t size;
    std::byte mark;
  };
  Rng rng(7);
  LargeBlocks blocks;
  std::vector<Block> taken;
  for (int step = 0; step < 3000; ++step) {
    if (taken.size() < 40 && rng.below(2) == 0) {
      const std::size_t size = 1 + rng.below(rng.below(50) == 0 ? 2 * LargeBlocks::chunk : 1 << 20);
      Block block{blocks.allocate(size), size, static_cast<std::byte>(step)};
      ASSERT_NE(block.memory, nullptr);
      // Its ends: all of it would take long.
      block.memory[0] = block.memory[size - 1] = block.mark;
      taken.push_back(block);
    } else if (!taken.empty()) {
      const std::size_t i = rng.below(taken.size());
      const Block block = taken[i];
      ASSERT_EQ(block.memory[0], block.mark) << step;
      ASSERT_EQ(block.memory[block.size - 1], block.mark) << step;
      ASSERT_TRUE(blocks.free(block.memory));
      taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  for (const Block& block : taken) ASSERT_TRUE(blocks.free(block.memory));
  EXPECT_LE(blocks.reserved(), 3 * LargeBlocks::chunk) << "at most one chunk is left";
}

TEST(large_blocks, take_no_more_from_the_system_than_what_is_kept_needs) {
  constexpr std::size_t size = 1 << 20, kept = 20;
  LargeBlocks blocks;
  std::vector<std::byte*> queue;
  for (int i = 0; i < 2000; ++i) {
    queue.push_back(blocks.allocate(size));
    if (queue.size() <= kept) continue;
    ASSERT_TRUE(blocks.free(queue.front()));
    queue.erase(queue.begin());
  }
  EXPECT_LE(blocks.reserved(), 2 * LargeBlocks::chunk);
}

TEST(large_blocks, do_not_know_blocks_of_others) {
  LargeBlocks blocks;
  std::vector<std::byte> other(100);
  EXPECT_FALSE(blocks.free(other.data()));
  ASSERT_NE(blocks.allocate(100), nullptr);
  EXPECT_FALSE(blocks.free(other.data()));
}

}  // namespace
}  // namespace weft
