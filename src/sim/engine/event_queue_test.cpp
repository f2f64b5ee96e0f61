// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/event_queue.hpp"

#include <gtest/gtest.h>

#include <set>

#include "base/rng.hpp"

namespace weft::sim {
namespace {

Event event_at(std::int64_t time, std::uint32_t source, std::uint32_t sequence) {
  return {.time = PicoInstant(time), .source = source, .sequence = sequence};
}

bool same(const Event& a, const Event& b) {
  return a.time == b.time && a.source == b.source && a.sequence == b.sequence;
}

TEST(event_queue, orders_equal_times_by_source_and_then_sequence) {
  EventQueue queue;
  queue.push(event_at(5, 2, 0));
  queue.push(event_at(5, 1, 7));
  queue.push(event_at(5, 1, 3));
  queue.push(event_at(4, 9, 9));
  EXPECT_TRUE(same(queue.pop(), event_at(4, 9, 9)));
  EXPECT_TRUE(same(queue.pop(), event_at(5, 1, 3)));
  EXPECT_TRUE(same(queue.pop(), event_at(5, 1, 7)));
  EXPECT_TRUE(same(queue.pop(), event_at(5, 2, 0)));
  EXPECT_TRUE(queue.empty());
}

/// Pushes and pops at random, with times `mean` apart on average and a few far away, against a set.
void pops_in_order(std::uint64_t seed, double mean, std::size_t pending) {
  SCOPED_TRACE(testing::Message() << "seed " << seed << ", mean " << mean);
  Rng rng(seed);
  EventQueue queue;
  std::set<Event> expected;
  std::int64_t now = 0;
  std::uint32_t sequence = 0;
  for (int step = 0; step < 200'000; ++step) {
    if (expected.size() < pending && (expected.empty() || rng.below(3) > 0)) {
      const double far = rng.below(100) == 0 ? 1e6 : 1;
      const Event e = event_at(now + static_cast<std::int64_t>(rng.exponential(mean * far)),
                               static_cast<std::uint32_t>(rng.below(4)), sequence++);
      queue.push(e);
      expected.insert(e);
      continue;
    }
    const Event e = queue.pop();
    ASSERT_TRUE(same(e, *expected.begin())) << "step " << step;
    expected.erase(expected.begin());
    now = e.time.ticks();
    ASSERT_EQ(queue.size(), expected.size());
  }
}

TEST(event_queue, agrees_with_a_sorted_set_when_events_are_dense) {
  pops_in_order(1, 3, 5000);
}
TEST(event_queue, agrees_with_a_sorted_set_when_events_are_sparse) {
  pops_in_order(2, 3e9, 50);
}
TEST(event_queue, agrees_with_a_sorted_set_at_ordinary_density) {
  pops_in_order(3, 1e6, 3000);
}
TEST(event_queue, agrees_with_a_sorted_set_when_density_changes) {
  for (std::uint64_t seed = 10; seed < 13; ++seed) pops_in_order(seed, seed == 11 ? 10 : 1e7, 800);
}

}  // namespace
}  // namespace weft::sim
