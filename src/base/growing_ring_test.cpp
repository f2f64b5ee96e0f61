// SPDX-License-Identifier: Apache-2.0
#include "base/growing_ring.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <memory>

#include "base/rng.hpp"

namespace weft {
namespace {

TEST(growing_ring, is_a_queue_whatever_its_size) {
  GrowingRing<std::uint64_t> ring;
  std::deque<std::uint64_t> expected;
  Rng rng(1);
  for (int i = 0; i < 20'000; ++i) {
    // Fills up and drains in turns.
    if (rng.below(1000) < (i / 2000 % 2 == 0 ? 600u : 400u)) {
      ring.push_back(rng.next());
      expected.push_back(ring[ring.size() - 1]);
    } else if (!expected.empty()) {
      ASSERT_EQ(ring.front(), expected.front());
      ring.pop_front();
      expected.pop_front();
    }
    ASSERT_EQ(ring.size(), expected.size());
  }
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(ring[i], expected[i]);
  ring.clear();
  EXPECT_TRUE(ring.empty());
}

TEST(growing_ring, lets_go_of_what_was_taken_out) {
  GrowingRing<std::shared_ptr<int>> ring;
  const auto value = std::make_shared<int>(1);
  ring.push_back(value);
  ring.push_back(value);
  EXPECT_EQ(value.use_count(), 3);
  ring.pop_front();
  EXPECT_EQ(value.use_count(), 2);
  ring.clear();
  EXPECT_EQ(value.use_count(), 1);
}

}  // namespace
}  // namespace weft
