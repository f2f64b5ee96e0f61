// SPDX-License-Identifier: Apache-2.0
#include "net/link_model.hpp"

#include <gtest/gtest.h>

#include <type_traits>

namespace weft::net {
namespace {

constexpr PicoInstant at(std::int64_t picoseconds) {
  return PicoInstant(picoseconds);
}

LinkModel link(std::uint64_t bytes_per_second, PicoDuration latency = {}) {
  return LinkModel({.rate = Bandwidth::bytes_per_second(bytes_per_second), .latency = latency});
}

TEST(link_model, one_message_takes_its_bytes_over_the_rate_and_then_the_latency) {
  // 1500 B at 125 MB/s (1 Gbit/s): 8 ns per byte.
  LinkModel gigabit = link(125'000'000, PicoDuration::microseconds(2));
  const Transit transit = gigabit.send(at(5'000), ByteCount(1500));
  EXPECT_EQ(transit.start, at(5'000));
  EXPECT_EQ(transit.departure, at(5'000 + 12'000'000));
  EXPECT_EQ(transit.arrival, at(5'000 + 12'000'000 + 2'000'000));
}

TEST(link_model, serialises_64_bytes_and_4_mebibytes_exactly) {
  // 12.5 GB/s: 80 ps per byte. 25 MB/s: 40 ns per byte.
  EXPECT_EQ(link(12'500'000'000).send(at(0), ByteCount(64)).departure, at(5'120));
  EXPECT_EQ(link(12'500'000'000).send(at(0), ByteCount::mib(4)).departure, at(335'544'320));
  EXPECT_EQ(link(25'000'000).send(at(0), ByteCount(64)).departure, at(2'560'000));
  EXPECT_EQ(link(25'000'000).send(at(0), ByteCount::mib(4)).departure, at(167'772'160'000));
}

TEST(link_model, a_message_of_work_beyond_64_bits_ends_when_its_pieces_do) {
  for (const std::uint64_t rate : {std::uint64_t{7'000'000'013}, std::uint64_t{3}}) {
    LinkModel whole = link(rate);
    LinkModel pieces = link(rate);
    whole.send(at(1), ByteCount(24'000'000));
    for (int i = 0; i < 6; ++i) pieces.send(at(1), ByteCount(4'000'000));
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(whole.idle_from(), pieces.idle_from()) << rate;
      whole.send(at(1), ByteCount(1));
      pieces.send(at(1), ByteCount(1));
    }
  }
}

TEST(link_model, the_second_of_two_messages_waits_for_the_first) {
  LinkModel l = link(1'000'000'000, PicoDuration(7));  // 1 ns per byte
  EXPECT_EQ(l.send(at(100), ByteCount(10)).departure, at(10'100));
  const Transit second = l.send(at(200), ByteCount(20));
  EXPECT_EQ(second.start, at(10'100));
  EXPECT_EQ(second.departure, at(30'100));
  EXPECT_EQ(second.arrival, at(30'107));
}

TEST(link_model, an_idle_gap_is_not_made_up_for) {
  LinkModel l = link(1'000'000'000);
  EXPECT_EQ(l.send(at(0), ByteCount(10)).departure, at(10'000));
  EXPECT_EQ(l.send(at(50'000), ByteCount(10)).departure, at(60'000));
  EXPECT_EQ(l.idle_from(), at(60'000));
}

TEST(link_model, a_message_offered_in_the_past_queues_behind_those_already_there) {
  LinkModel l = link(1'000'000'000);
  EXPECT_EQ(l.send(at(50'000), ByteCount(10)).departure, at(60'000));
  EXPECT_EQ(l.send(at(0), ByteCount(10)).start, at(60'000));
}

TEST(link_model, instants_are_rounded_up_and_the_rest_is_carried) {
  // 3 B/s: a third of 10^12 ps per byte.
  LinkModel l = link(3);
  EXPECT_EQ(l.send(at(0), ByteCount(1)).departure, at(333'333'333'334));
  const Transit second = l.send(at(0), ByteCount(1));
  EXPECT_EQ(second.start, at(333'333'333'334));
  EXPECT_EQ(second.departure, at(666'666'666'667));
  EXPECT_EQ(l.send(at(0), ByteCount(1)).departure, at(1'000'000'000'000));
}

TEST(link_model, a_million_small_messages_end_when_one_large_message_does) {
  // 7 B and 49.999999 MB/s have no common measure with a picosecond.
  LinkModel small = link(49'999'999), large = link(49'999'999);
  Transit last{};
  for (int i = 0; i < 1'000'000; ++i) last = small.send(at(0), ByteCount(7));
  EXPECT_EQ(last.departure, large.send(at(0), ByteCount(7'000'000)).departure);
}

TEST(link_model, a_sender_that_comes_when_the_link_is_free_carries_the_rest_too) {
  // A byte takes 33 1/3 ps.
  LinkModel l = link(30'000'000'000);
  for (int i = 0; i < 3'000; ++i) l.send(l.idle_from(), ByteCount(1));
  EXPECT_EQ(l.idle_from(), at(100'000));
  // A picosecond later the link has been idle.
  l.send(at(100'001), ByteCount(1));
  EXPECT_EQ(l.idle_from(), at(100'035));
  l.send(at(100'036), ByteCount(1));
  EXPECT_EQ(l.idle_from(), at(100'070));
}

TEST(link_model, a_rest_of_a_picosecond_still_counts_as_busy) {
  LinkModel l = link(3);
  (void)l.send(at(0), ByteCount(1));  // free at 333333333333 1/3
  EXPECT_EQ(l.send(at(333'333'333'333), ByteCount(2)).departure, at(1'000'000'000'000));
}

TEST(link_model, overhead_is_paid_per_message) {
  LinkModel l(
      {.rate = Bandwidth::bytes_per_second(1'000'000'000), .overhead_per_message = ByteCount(18)});
  EXPECT_EQ(l.send(at(0), ByteCount(82)).departure, at(100'000));
  EXPECT_EQ(l.send(at(0), ByteCount(0)).departure, at(118'000));
  EXPECT_EQ(l.backlog(at(0)), ByteCount(118));
}

TEST(link_model, backlog_shrinks_at_the_rate) {
  LinkModel l = link(1'000'000'000);
  (void)l.send(at(0), ByteCount(100));
  EXPECT_EQ(l.backlog(at(0)), ByteCount(100));
  EXPECT_EQ(l.backlog(at(40'000)), ByteCount(60));
  EXPECT_EQ(l.backlog(at(40'001)), ByteCount(60));  // the 41st byte has not departed whole
  EXPECT_EQ(l.idle_from(), at(100'000));
  EXPECT_EQ(l.backlog(at(100'000)), ByteCount(0));
}

TEST(link_model, a_new_rate_holds_for_what_has_not_departed) {
  LinkModel l = link(1'000'000'000);
  (void)l.send(at(0), ByteCount(100));
  // 60 bytes are left at 40 ns; at a tenth of the rate they take 600 ns.
  l.set_rate(at(40'000), Bandwidth::bytes_per_second(100'000'000));
  EXPECT_EQ(l.idle_from(), at(640'000));
  EXPECT_EQ(l.send(at(50'000), ByteCount(1)).departure, at(650'000));
  // And faster again: 1 byte takes 10 ns at 100 MB/s; half of it is left.
  l.set_rate(at(645'000), Bandwidth::bytes_per_second(1'000'000'000));
  EXPECT_EQ(l.idle_from(), at(645'500));
}

TEST(link_model, rate_changes_lose_no_fraction) {
  LinkModel l = link(3);
  (void)l.send(at(0), ByteCount(1));
  l.set_rate(at(333'333'333'333), Bandwidth::bytes_per_second(1));  // 1 byte-picosecond is left
  EXPECT_EQ(l.idle_from(), at(333'333'333'334));
  EXPECT_EQ(l.send(at(0), ByteCount(1)).departure, at(1'333'333'333'334));
}

TEST(link_model, a_rate_of_zero_is_infinitely_fast) {
  LinkModel l = link(0, PicoDuration(9));
  const Transit transit = l.send(at(4), ByteCount::gib(1));
  EXPECT_EQ(transit.departure, at(4));
  EXPECT_EQ(transit.arrival, at(13));
  l.set_rate(at(5), Bandwidth::bytes_per_second(1'000'000'000));
  EXPECT_EQ(l.send(at(5), ByteCount(1)).departure, at(1'005));
  l.set_rate(at(5), Bandwidth{});
  EXPECT_EQ(l.idle_from(), at(5));
}

TEST(link_model, a_limited_queue_says_when_it_has_room) {
  LinkModel l({.rate = Bandwidth::bytes_per_second(1'000'000'000), .queue_limit = ByteCount(100)});
  (void)l.send(at(0), ByteCount(70));
  EXPECT_TRUE(l.admits(at(0), ByteCount(30)));
  EXPECT_FALSE(l.admits(at(0), ByteCount(31)));
  EXPECT_EQ(l.admits_from(at(0), ByteCount(31)), at(1'000));
  EXPECT_EQ(l.admits_from(at(0), ByteCount(100)), at(70'000));
  EXPECT_TRUE(l.admits(at(1'000), ByteCount(31)));
}

TEST(link_model, a_message_above_the_limit_passes_an_empty_queue) {
  LinkModel l({.rate = Bandwidth::bytes_per_second(1'000'000'000), .queue_limit = ByteCount(100)});
  EXPECT_TRUE(l.admits(at(0), ByteCount(500)));
  EXPECT_EQ(l.send(at(0), ByteCount(500)).departure, at(500'000));
  EXPECT_EQ(l.admits_from(at(0), ByteCount(500)), at(500'000));
  EXPECT_EQ(l.admits_from(at(0), ByteCount(100)), at(500'000));
}

TEST(link_model_death, sending_into_a_full_queue_is_a_programmer_error) {
  LinkModel l({.rate = Bandwidth::bytes_per_second(1), .queue_limit = ByteCount(10)});
  (void)l.send(at(0), ByteCount(10));
  EXPECT_DEATH((void)l.send(at(0), ByteCount(1)), "no room");
}

TEST(link_model, is_plain_data) {
  static_assert(std::is_trivially_copyable_v<LinkModel>);
  static_assert(sizeof(LinkModel) <= 48);
}

}  // namespace
}  // namespace weft::net
