// SPDX-License-Identifier: Apache-2.0
#include "net/paced_link.hpp"

#include <gtest/gtest.h>

namespace weft::net {
namespace {

// 25 MB/s: 40 ns per byte. The epoch is a year of uptime.
constexpr Instant kEpoch(31'536'000'000'000'000);
constexpr LinkShape kShape{Bandwidth::bytes_per_second(25'000'000), Duration::microseconds(20)};

Instant after(std::int64_t microseconds) {
  return kEpoch + Duration::microseconds(microseconds);
}

PacedLink paced(Duration catch_up) {
  PacedLink link(kShape, catch_up);
  link.start(kEpoch);
  return link;
}

TEST(paced_link, a_piece_departs_after_its_bytes_and_arrives_a_latency_later) {
  PacedLink link = paced(Duration::milliseconds(1));
  const auto passage = link.send(after(10), after(10), ByteCount(1000));
  EXPECT_EQ(passage.departure, after(50));
  EXPECT_EQ(passage.arrival, after(70));
  EXPECT_EQ(link.free_from(), after(50));
}

TEST(paced_link, late_processing_does_not_cost_bandwidth) {
  PacedLink link = paced(Duration::milliseconds(1));
  // 1000 pieces of 40 us, all ready at the start; the driver always comes 35 us late.
  for (int i = 0; i < 1000; ++i) {
    (void)link.send(after(40 * i + 35), after(0), ByteCount(1000));
  }
  EXPECT_EQ(link.free_from(), after(40'000));
}

TEST(paced_link, only_so_much_is_caught_up_with) {
  PacedLink link = paced(Duration::milliseconds(1));
  const auto passage = link.send(after(50'000), after(0), ByteCount(1000));
  EXPECT_EQ(passage.departure, after(49'040));
}

TEST(paced_link, an_idle_link_saves_nothing) {
  PacedLink link = paced(Duration::milliseconds(1));
  (void)link.send(after(0), after(0), ByteCount(1000));
  EXPECT_EQ(link.send(after(500), after(500), ByteCount(1000)).departure, after(540));
}

TEST(paced_link, a_new_shape_holds_for_what_is_queued) {
  PacedLink link = paced(Duration::milliseconds(1));
  (void)link.send(after(0), after(0), ByteCount(1000));  // until 40 us
  link.set_shape(after(20), {Bandwidth::bytes_per_second(12'500'000), Duration{}});
  EXPECT_EQ(link.free_from(), after(60));
  EXPECT_EQ(link.backlog(after(20)), ByteCount(500));
  EXPECT_EQ(link.send(after(60), after(60), ByteCount(1000)).arrival, after(140));
}

}  // namespace
}  // namespace weft::net
