// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/event_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/rng.hpp"

namespace weft::sim {
namespace {

Event event_at(std::int64_t time, std::uint32_t source, std::uint32_t sequence) {
  return {.time = PicoInstant(time), .sequence = sequence, .source = source};
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
void pops_in_order(std::uint64_t seed, double mean, std::size_t pending, bool looks_ahead) {
  SCOPED_TRACE(testing::Message() << "seed " << seed << ", mean " << mean << ", " << looks_ahead);
  Rng rng(seed);
  EventQueue queue;
  queue.look_ahead_if(looks_ahead);
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

void pops_in_order(std::uint64_t seed, double mean, std::size_t pending) {
  for (const bool looks_ahead : {true, false}) pops_in_order(seed, mean, pending, looks_ahead);
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

void pops_in_order_behind_a_late_one(bool looks_ahead) {
  Rng rng(20);
  EventQueue queue;
  queue.look_ahead_if(looks_ahead);
  std::set<Event> expected;
  const auto add = [&](std::int64_t time) {
    const Event e = event_at(time, 1, static_cast<std::uint32_t>(expected.size()));
    queue.push(e);
    expected.insert(e);
  };
  add(1'000'000'000'000);
  for (int i = 0; i < 20'000; ++i) add(static_cast<std::int64_t>(rng.below(50'000'000)));
  for (const Event& e : expected) ASSERT_TRUE(same(queue.pop(), e)) << e.time.ticks();
  EXPECT_TRUE(queue.empty());
}

TEST(event_queue, agrees_with_a_sorted_set_when_the_first_event_pushed_is_a_late_one) {
  for (const bool looks_ahead : {true, false}) pops_in_order_behind_a_late_one(looks_ahead);
}

void pops_thousands_of_an_instant_in_order(bool looks_ahead) {
  Rng rng(21);
  EventQueue queue;
  queue.look_ahead_if(looks_ahead);
  std::set<Event> expected;
  std::uint32_t sequence = 0;
  for (std::int64_t round = 0; round < 20; ++round) {
    for (int i = 0; i < 3000; ++i) {
      const auto source = static_cast<std::uint32_t>(rng.below(100));
      const Event e = event_at(round * 655'360, source, sequence++);
      queue.push(e);
      expected.insert(e);
    }
  }
  for (const Event& e : expected) ASSERT_TRUE(same(queue.pop(), e)) << e.time.ticks();
  EXPECT_EQ(queue.size(), 0U);
}

TEST(event_queue, agrees_with_a_sorted_set_when_thousands_happen_at_one_instant) {
  for (const bool looks_ahead : {true, false}) pops_thousands_of_an_instant_in_order(looks_ahead);
}

TEST(event_queue, agrees_with_a_sorted_set_when_it_begins_and_ceases_to_look_ahead) {
  Rng rng(25);
  EventQueue queue;
  std::set<Event> expected;
  std::int64_t now = 0;
  for (std::uint32_t step = 0; step < 100'000; ++step) {
    if (rng.below(50) == 0) queue.look_ahead_if(rng.below(2) == 0);
    if (expected.size() < 200) {
      const Event e = event_at(now + static_cast<std::int64_t>(rng.exponential(1e5)), 1, step);
      queue.push(e);
      expected.insert(e);
    }
    if (rng.below(3) == 0) continue;
    const Event e = queue.pop();
    ASSERT_TRUE(same(e, *expected.begin())) << "step " << step;
    expected.erase(expected.begin());
    now = e.time.ticks();
  }
}

TEST(event_queue, knows_few_events_when_it_does_not_look_ahead) {
  EventQueue queue;
  queue.look_ahead_if(false);
  for (std::uint32_t i = 0; i < 100; ++i) queue.push(event_at(i * 100'000, 1, i));
  for (std::uint32_t i = 0; i < 50; ++i) {
    ASSERT_TRUE(same(queue.pop(), event_at(i * 100'000, 1, i)));
    EXPECT_NE(queue.near(1), nullptr);
    EXPECT_EQ(queue.near(2), nullptr);
  }
}

TEST(event_queue, shows_the_next_events_in_their_order_as_soon_as_more_have_been_pushed) {
  EventQueue queue;
  Rng rng(22);
  std::uint32_t sequence = 0;
  const auto add = [&](std::int64_t now) {
    queue.push(event_at(now + static_cast<std::int64_t>(rng.below(1'000'000)), 1, sequence++));
  };
  for (int i = 0; i < 5000; ++i) add(0);
  std::size_t seen = 0;
  for (int step = 0; step < 50'000; ++step) {
    std::vector<Event> next;
    if (const Event* near = queue.near(EventQueue::kMostAhead); near != nullptr) {
      next.assign(near, near + EventQueue::kMostAhead);
      ++seen;
      ASSERT_TRUE(std::is_sorted(next.begin(), next.end()));
      ASSERT_TRUE(same(next.front(), queue.front()));
    }
    add(queue.pop().time.ticks());
  }
  EXPECT_GT(seen, 45'000U);
}

TEST(event_queue, shows_no_more_events_than_there_are) {
  EventQueue queue;
  queue.push(event_at(5, 1, 0));
  queue.push(event_at(6, 1, 1));
  ASSERT_NE(queue.near(1), nullptr);
  EXPECT_TRUE(same(*queue.near(1), event_at(5, 1, 0)));
  EXPECT_EQ(queue.near(3), nullptr);
}

TEST(event_queue, agrees_with_a_sorted_set_when_events_follow_soon_behind_the_next_few) {
  pops_in_order(23, 1e3, 40);
  pops_in_order(24, 1e3, 100);
}

}  // namespace
}  // namespace weft::sim
