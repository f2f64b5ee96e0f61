// SPDX-License-Identifier: Apache-2.0
#include "stream/cluster/rendezvous_messages.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <vector>

namespace weft::stream {
namespace {

template <class Message>
std::vector<std::byte> encoded(const Message& message) {
  std::vector<std::byte> bytes(largest_rendezvous_message);
  wire::Writer out(bytes);
  encode(message, out);
  bytes.resize(out.size());
  return bytes;
}

const RendezvousHello hello{.begun = true,
                            .machine = "m-1",
                            .options = "--inputs 4\n",
                            .address = "10.0.0.1:4000",
                            .clock = "c-1"};

TEST(rendezvous_messages, come_back_as_they_were) {
  const auto back = decode_rendezvous_hello(encoded(hello));
  ASSERT_TRUE(back);
  EXPECT_TRUE(back->begun);
  EXPECT_EQ(back->machine, hello.machine);
  EXPECT_EQ(back->options, hello.options);
  EXPECT_EQ(back->address, hello.address);
  EXPECT_EQ(back->clock, hello.clock);

  const auto progress = decode_rendezvous_progress(encoded(RendezvousProgress{
      true, {.timeslices = 7, .bytes = 8, .spread_us = 1.5, .buffer_fill = 0.25}}));
  ASSERT_TRUE(progress);
  EXPECT_TRUE(progress->begun);
  EXPECT_EQ(progress->figures.timeslices, 7u);
  EXPECT_EQ(progress->figures.bytes, 8u);
  EXPECT_EQ(progress->figures.spread_us, 1.5);
  EXPECT_EQ(progress->figures.buffer_fill, 0.25);

  const auto reply =
      decode_time_reply(encoded(TimeReply{InstantOf<AskingClock>(5), InstantOf<LeaderClock>(-6)}));
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->asked, InstantOf<AskingClock>(5));
  EXPECT_EQ(reply->answered, InstantOf<LeaderClock>(-6));
  EXPECT_EQ(rendezvous_kind(encoded(RendezvousKind::leave)), RendezvousKind::leave);
}

TEST(rendezvous_messages, the_longest_of_each_kind_fits_into_one_message) {
  const std::string text(longest_hello_text, 'x');
  EXPECT_TRUE(decode_rendezvous_hello(
      encoded(RendezvousHello{.machine = text,
                              .options = text,
                              .address = text,
                              .clock = std::string(longest_clock_name, 'x')})));
  const std::vector<std::byte> bytes(report_piece);
  EXPECT_TRUE(decode_report_piece(encoded(ReportPiece{largest_report, 0, bytes})));
}

TEST(rendezvous_messages, truncated_or_extended_ones_are_refused) {
  auto bytes = encoded(hello);
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_FALSE(decode_rendezvous_hello(std::span(bytes).first(n))) << n;
  }
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(decode_rendezvous_hello(bytes));
  EXPECT_FALSE(rendezvous_kind({}));
  EXPECT_FALSE(rendezvous_kind(std::array{std::byte{0}}));
  EXPECT_FALSE(rendezvous_kind(std::array{std::byte{200}}));
}

TEST(rendezvous_messages, text_that_would_disturb_a_terminal_is_refused) {
  RendezvousHello rude = hello;
  rude.options = "--inputs \033[2J\n";
  EXPECT_FALSE(decode_rendezvous_hello(encoded(rude)));
}

TEST(rendezvous_messages, a_hello_without_address_is_refused) {
  RendezvousHello lost = hello;
  lost.address.clear();
  EXPECT_FALSE(decode_rendezvous_hello(encoded(lost)));
}

TEST(rendezvous_messages, report_pieces_lie_within_a_report_of_bounded_size) {
  const std::vector<std::byte> bytes(10);
  EXPECT_TRUE(decode_report_piece(encoded(ReportPiece{30, 20, bytes})));
  EXPECT_FALSE(decode_report_piece(encoded(ReportPiece{30, 21, bytes})));
  EXPECT_FALSE(decode_report_piece(
      encoded(ReportPiece{30, std::numeric_limits<std::uint64_t>::max() - 5, bytes})));
  EXPECT_FALSE(decode_report_piece(encoded(ReportPiece{largest_report + 1, 0, bytes})));
  EXPECT_FALSE(decode_report_piece(encoded(ReportPiece{30, 0, {}})));
}

TEST(rendezvous_messages, progress_that_is_no_number_is_refused) {
  EXPECT_FALSE(decode_rendezvous_progress(
      encoded(RendezvousProgress{false, {.spread_us = std::numeric_limits<double>::quiet_NaN()}})));
}

}  // namespace
}  // namespace weft::stream
