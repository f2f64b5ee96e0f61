// SPDX-License-Identifier: Apache-2.0
#include "emulate/policy/shared_link.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/rng.hpp"
#include "net/link_model.hpp"

namespace weft::emulate {
namespace {

TEST(shared_link, a_message_departs_after_its_bytes) {
  SharedLink link;
  // 100 MB/s: 10 ns a byte.
  const Passage passage = link.send(5'000, 8, 100'000'000);
  EXPECT_EQ(passage.start, 5'000);
  EXPECT_EQ(passage.departure, 85'000);
  EXPECT_EQ(link.free_from(), 85'000);
}

TEST(shared_link, a_small_message_between_large_ones_waits_for_the_first_of_them) {
  SharedLink link;
  (void)link.send(0, 1'000'000, 1'000'000'000);  // until 1 ms
  const Passage small = link.send(10, 8, 1'000'000'000);
  EXPECT_EQ(small.start, 1'000'000'000);
  EXPECT_EQ(small.departure, 1'000'008'000);
}

TEST(shared_link, no_rate_takes_no_time_and_leaves_the_link_alone) {
  SharedLink link;
  EXPECT_EQ(link.send(7, 1'000'000, 0).departure, 7);
  EXPECT_EQ(link.free_from(), 0);
}

TEST(shared_link, it_agrees_with_the_link_model_to_the_picosecond) {
  const std::uint64_t seed = 20151;
  SCOPED_TRACE(::testing::Message() << "Rng rng(" << seed << ")");
  Rng rng(seed);
  for (const std::uint64_t rate : {1'000UL, 99'999'989UL, 12'500'000'000UL}) {
    SharedLink link;
    net::LinkModel model({.rate = Bandwidth::bytes_per_second(rate)});
    Picoseconds now = 0;
    for (int i = 0; i < 2'000; ++i) {
      now += static_cast<Picoseconds>(rng.next() % 1'000'000'000);
      if (i % 3 == 0) now = link.free_from();
      const std::uint64_t bytes = rng.next() % 100'000;
      const net::Transit expected = model.send(PicoInstant(now), ByteCount(bytes));
      const Passage passage = link.send(now, bytes, rate);
      ASSERT_EQ(passage.start, expected.start.ticks()) << i;
      ASSERT_EQ(passage.departure, expected.departure.ticks()) << i;
    }
  }
}

TEST(shared_link, senders_at_once_lose_no_byte) {
  SharedLink link;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&link] {
      for (int i = 0; i < 10'000; ++i) (void)link.send(0, 7, 3'000'000'000);
    });
  }
  threads.clear();
  EXPECT_EQ(link.free_from(), 40'000LL * 7 * 1'000 / 3 + 1);  // 93 333 333.3, rounded up
}

TEST(catch_up, what_was_ready_before_starts_then_but_no_earlier_than_allowed) {
  EXPECT_EQ(caught_up(1'000, 900, 500), 900);
  EXPECT_EQ(caught_up(1'000, 100, 500), 500);
  EXPECT_EQ(caught_up(1'000, 2'000, 500), 1'000);
}

TEST(arrival, a_receiver_that_polls_sees_the_messages_own_jitter) {
  EXPECT_EQ(arrival({.sent = 0, .native = 100, .looked = 125, .seen = 130}), 130);
  EXPECT_EQ(arrival({.sent = 0, .native = 128, .looked = 125, .seen = 130}), 130);
}

TEST(arrival, a_receiver_that_computed_does_not_delay_the_message) {
  EXPECT_EQ(arrival({.sent = 1'000, .native = 100, .looked = 0, .seen = 90'000'000}), 1'100);
  EXPECT_EQ(arrival({.sent = 1'000, .native = 100, .looked = 5'000, .seen = 90'000'000}), 5'000);
}

TEST(arrival, a_message_that_came_before_its_receive_was_posted_does_not_arrive_then) {
  Observation message{
      .sent = 1'000, .native = 100, .looked = 40'000, .seen = 40'200, .posted = 40'100};
  EXPECT_EQ(arrival(message), 1'100);
  message.seen = 90'000'000;
  EXPECT_EQ(arrival(message), 1'100);
  message.sent = message.seen - 50;
  EXPECT_EQ(arrival(message), message.seen);
  // The look after the receive was posted would have found it.
  message.looked = message.posted;
  message.sent = 1'000;
  message.seen = 40'200;
  EXPECT_EQ(arrival(message), 40'200);
}

TEST(Due, EmulationsOwnCostIsTakenOffWhetherLinksDecideOrNot) {
  const Way way{.sent = 1000, .arrived = 1300, .drained = 1000, .shortest = 170, .own = 60};
  EXPECT_EQ(due(way), 1240);
  Way later = way;
  later.latency = 2000;
  EXPECT_EQ(due(later), 3240);
  // Sixteen bytes at 3.2 GB/s leave 5 units later, and as much later they are due.
  Way short_message = later;
  short_message.arrived = 1170;
  short_message.drained = 1005;
  EXPECT_EQ(due(short_message), 1005 + 170 - 60 + 2000);
}

TEST(Due, NothingIsDueBeforeItHasLeft) {
  EXPECT_EQ(due({.sent = 1000, .arrived = 1010, .drained = 1000, .shortest = 10, .own = 60}), 1000);
  EXPECT_EQ(due({.sent = 1000, .arrived = 1010, .drained = 1500, .shortest = 10, .own = 60}), 1500);
}

}  // namespace
}  // namespace weft::emulate
