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

TEST(growing_ring, erases_at_any_place_and_keeps_the_order) {
  GrowingRing<std::unique_ptr<int>> ring;
  std::deque<int> expected;
  Rng rng(2);
  for (int i = 0; i < 5'000; ++i) {
    if (expected.size() < 20 && rng.below(2) == 0) {
      EXPECT_EQ(*ring.emplace_back(std::make_unique<int>(i)), i);
      expected.push_back(i);
    } else if (!expected.empty()) {
      const auto at = rng.below(expected.size());
      ring.erase(at);
      expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(at));
    }
    ASSERT_EQ(ring.size(), expected.size());
    for (std::size_t k = 0; k < expected.size(); ++k) ASSERT_EQ(*ring[k], expected[k]);
  }
}

TEST(growing_ring, moves_with_all_that_is_in_it) {
  GrowingRing<std::shared_ptr<int>> ring;
  const auto value = std::make_shared<int>(1);
  ring.push_back(value);
  GrowingRing<std::shared_ptr<int>> other(std::move(ring));
  EXPECT_EQ(value.use_count(), 2);
  ASSERT_EQ(other.size(), 1u);
  EXPECT_EQ(other.front(), value);
}

}  // namespace
}  // namespace weft
