// SPDX-License-Identifier: Apache-2.0
#include "stream/shm/protocol.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace weft::shm {
namespace {

using Buffer = std::array<std::byte, max_message>;

template <class Message>
std::vector<std::byte> encoded(const Message& message) {
  Buffer buffer;
  const std::size_t size = encode(message, buffer);
  return {buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(size)};
}

const Piece good_piece{table_file, 4096, 8192, 8000, 500};

TEST(shm_protocol, messages_of_consumers_survive_the_wire) {
  const auto hello =
      decode_from_consumer(encoded(FromConsumer(Hello{GroupPolicy::skip, 7, "monitor"})));
  ASSERT_TRUE(hello && std::holds_alternative<Hello>(*hello));
  EXPECT_EQ(std::get<Hello>(*hello).policy, GroupPolicy::skip);
  EXPECT_EQ(std::get<Hello>(*hello).depth, 7u);
  const auto release = decode_from_consumer(encoded(FromConsumer(Release{99})));
  ASSERT_TRUE(release && std::holds_alternative<Release>(*release));
  EXPECT_EQ(std::get<Release>(*release).delivery, 99u);
  const auto leave = decode_from_consumer(encoded(FromConsumer(Leave{})));
  EXPECT_TRUE(leave && std::holds_alternative<Leave>(*leave));
}

TEST(shm_protocol, messages_of_the_sink_survive_the_wire) {
  const auto welcome = decode_from_sink(encoded(FromSink(Welcome{3, 8})));
  ASSERT_TRUE(welcome && std::holds_alternative<Welcome>(*welcome));
  EXPECT_EQ(std::get<Welcome>(*welcome).computes, 8u);
  const auto offer = decode_from_sink(encoded(FromSink(Offer{5, 2, true, good_piece})));
  ASSERT_TRUE(offer && std::holds_alternative<Offer>(*offer));
  EXPECT_TRUE(std::get<Offer>(*offer).repeated);
  EXPECT_EQ(std::get<Offer>(*offer).table.position, good_piece.position);
  const auto file = decode_from_sink(encoded(FromSink(FileNotice{private_file})));
  ASSERT_TRUE(file && std::holds_alternative<FileNotice>(*file));
  const auto end = decode_from_sink(encoded(FromSink(End{})));
  EXPECT_TRUE(end && std::holds_alternative<End>(*end));
}

TEST(shm_protocol, long_texts_are_cut_to_what_a_message_holds) {
  const std::string text(5000, 'x');
  const auto bytes = encoded(FromSink(Refusal{text}));
  const auto refusal = decode_from_sink(bytes);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(std::get<Refusal>(*refusal).reason.size(), max_reason);
}

TEST(shm_protocol, every_cut_and_every_longer_message_is_refused) {
  const auto hello = encoded(FromConsumer(Hello{GroupPolicy::one, 1, "g"}));
  for (std::size_t n = 0; n < hello.size(); ++n) {
    EXPECT_FALSE(decode_from_consumer(std::span(hello).first(n)).has_value()) << n;
  }
  for (const FromSink& message :
       {FromSink(Welcome{}), FromSink(Refusal{"no"}), FromSink(FileNotice{2}),
        FromSink(Offer{1, 0, false, good_piece}), FromSink(End{})}) {
    auto bytes = encoded(message);
    for (std::size_t n = 0; n < bytes.size(); ++n) {
      EXPECT_FALSE(decode_from_sink(std::span(bytes).first(n)).has_value()) << n;
    }
    bytes.push_back(std::byte{0});
    EXPECT_FALSE(decode_from_sink(bytes).has_value());
  }
}

TEST(shm_protocol, values_out_of_range_are_refused) {
  const auto refused = [](const FromConsumer& m) {
    return !decode_from_consumer(encoded(m)).has_value();
  };
  EXPECT_TRUE(refused(Hello{GroupPolicy::all, 0, "g"}));
  EXPECT_TRUE(refused(Hello{GroupPolicy::all, max_depth + 1, "g"}));
  EXPECT_TRUE(refused(Hello{GroupPolicy::all, 1, ""}));
  EXPECT_TRUE(refused(Hello{static_cast<GroupPolicy>(3), 1, "g"}));
  EXPECT_FALSE(decode_from_sink(encoded(FromSink(Welcome{4, 4}))).has_value());
  EXPECT_FALSE(decode_from_sink(encoded(FromSink(Welcome{0, max_computes + 1}))).has_value());
  EXPECT_FALSE(decode_from_sink(encoded(FromSink(FileNotice{table_file}))).has_value());
  EXPECT_FALSE(decode_from_sink(encoded(FromSink(FileNotice{max_files}))).has_value());
}

TEST(shm_protocol, pieces_that_reach_out_of_their_ring_are_not_plausible) {
  EXPECT_TRUE(plausible(good_piece));
  EXPECT_TRUE(plausible({2, 0, 4096, 4096, 4096}));
  EXPECT_FALSE(plausible({2, 0, 4096, 4097, 4096}));
  EXPECT_FALSE(plausible({2, 0, 4096, 0, 4097}));
  EXPECT_FALSE(plausible({2, 0, 4096, ~std::uint64_t{0}, 2}));
  EXPECT_FALSE(plausible({2, 0, 5000, 0, 1}));
  EXPECT_FALSE(plausible({2, 0, 0, 0, 0}));
  EXPECT_FALSE(plausible({2, 0, std::uint64_t{1} << 63, 0, 1}));
}

TEST(shm_protocol, table_gives_back_what_was_written_and_checks_its_size) {
  std::vector<std::byte> table(table_size(2));
  TimesliceHeader header;
  header.index = 17;
  header.components = 2;
  write_header(table, header);
  ComponentEntry entry;
  entry.file = 4;
  entry.size = 33;
  write_entry(table, 1, entry);
  const auto read = read_header(table);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->index, 17u);
  EXPECT_EQ(read_entry(table, 1).size, 33u);
  EXPECT_FALSE(read_header(std::span(table).first(table.size() - 1)).has_value());
  header.components = 0xffff'ffff;
  write_header(table, header);
  EXPECT_FALSE(read_header(table).has_value());
}

}  // namespace
}  // namespace weft::shm
