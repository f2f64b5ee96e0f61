// SPDX-License-Identifier: Apache-2.0
#include "core/message/frames.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace weft::message {
namespace {

std::vector<std::byte> encoded(const Frame& frame, std::span<const std::byte> body = {}) {
  std::vector<std::byte> bytes(longest_control_frame);
  wire::Writer writer(bytes);
  encode(writer, frame);
  bytes.resize(writer.size());
  bytes.insert(bytes.end(), body.begin(), body.end());
  return bytes;
}

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int v : values) bytes.push_back(static_cast<std::byte>(v));
  return bytes;
}

TEST(frames, an_eager_message_is_its_name_and_its_bytes) {
  const std::vector<std::byte> body = bytes_of({0xaa, 0xbb, 0xcc});
  const Frame frame{.kind = FrameKind::eager,
                    .asked = true,
                    .flow = {.generation = Generation(0x0102030405060708), .tag = Tag(7)},
                    .serial = 9,
                    .digest = 0x4443};
  EXPECT_EQ(encoded(frame, body),
            bytes_of({2, 2, 1, 0, 7, 0, 0,    0,    8, 7, 6, 5, 4, 3, 2,    1,    9,   0,
                      0, 0, 0, 0, 0, 0, 0x43, 0x44, 0, 0, 0, 0, 0, 0, 0xaa, 0xbb, 0xcc}));
  const auto bytes = encoded(frame, body);
  EXPECT_EQ(bytes.size(), header_bytes + 3);
  const auto read = decode(bytes);
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->asked);
  EXPECT_FALSE(read->urgent);
  EXPECT_EQ(read->flow, frame.flow);
  EXPECT_EQ(read->serial, 9u);
  EXPECT_EQ(read->digest, 0x4443u);
  EXPECT_EQ(read->size, 3u);
  EXPECT_TRUE(std::equal(body.begin(), body.end(), read->body.begin(), read->body.end()));
  const auto eager = decode_eager(bytes);
  ASSERT_TRUE(eager);
  EXPECT_TRUE(eager->asked);
  EXPECT_FALSE(eager->urgent);
  EXPECT_EQ(eager->flow, frame.flow);
  EXPECT_EQ(eager->serial, 9u);
  EXPECT_EQ(eager->digest, 0x4443u);
  EXPECT_EQ(eager->body.data(), bytes.data() + header_bytes);
  EXPECT_EQ(eager->body.size(), 3u);
}

TEST(frames, only_an_eager_message_is_read_as_one) {
  const std::vector<std::byte> body = bytes_of({1, 2});
  const auto good = encoded({.kind = FrameKind::eager, .urgent = true}, body);
  ASSERT_TRUE(decode_eager(good));
  EXPECT_TRUE(decode_eager(good)->urgent);
  for (std::size_t length = 0; length < header_bytes; ++length) {
    EXPECT_FALSE(decode_eager(std::span(good).first(length))) << length << " bytes";
  }
  for (std::size_t at = 0; at < 4; ++at) {
    for (int value = 0; value < 256; ++value) {
      auto other = good;
      other[at] = static_cast<std::byte>(value);
      const auto frame = decode(other);
      EXPECT_EQ(decode_eager(other).has_value(), frame && frame->kind == FrameKind::eager)
          << "byte " << at << " is " << value;
    }
  }
}

TEST(frames, the_message_after_the_last_one_is_a_part_of_its_serial_its_digest_and_its_bytes) {
  std::vector<std::byte> bytes(next_header_bytes);
  const std::uint64_t header = next_header(0x0102030405060708, 0x11121314);
  std::memcpy(bytes.data(), &header, sizeof header);
  EXPECT_EQ(bytes, bytes_of({18, 8, 7, 6, 0x14, 0x13, 0x12, 0x11}));
  bytes.push_back(std::byte{0xaa});
  const auto next = decode_next(bytes);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->start, next_start(0x060708));
  EXPECT_EQ(next->digest, 0x11121314u);
  EXPECT_EQ(next->body.data(), bytes.data() + next_header_bytes);
  EXPECT_EQ(next->body.size(), 1u);
  for (std::size_t length = 0; length < next_header_bytes; ++length) {
    EXPECT_FALSE(decode_next(std::span(bytes).first(length))) << length << " bytes";
  }
  for (int value = 0; value < 256; ++value) {
    auto other = bytes;
    other[0] = static_cast<std::byte>(value);
    EXPECT_EQ(decode_next(other).has_value(), other == bytes) << "kind " << value;
  }
}

TEST(frames, a_get_names_the_memory_to_write_into) {
  const Frame frame{.kind = FrameKind::get,
                    .flow = {.generation = Generation(1), .tag = Tag(2)},
                    .serial = 3,
                    .size = 4,
                    .region = {.key = 5, .base = 6, .length = 7}};
  const auto read = decode(encoded(frame));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->region.key, 5u);
  EXPECT_EQ(read->region.base, 6u);
  EXPECT_EQ(read->region.length, 7u);
}

TEST(frames, word_of_a_written_message_has_its_digest_where_that_is_known) {
  Frame frame{.kind = FrameKind::written, .serial = 3, .size = 1 << 20};
  EXPECT_EQ(encoded(frame).size(), header_bytes);
  ASSERT_TRUE(decode(encoded(frame)));
  frame.digest = 7;
  EXPECT_EQ(encoded(frame).size(), header_bytes + 4);
  const auto read = decode(encoded(frame));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->digest, 7u);
  EXPECT_EQ(read->size, frame.size);
  EXPECT_FALSE(decode(std::span<const std::byte>(encoded(frame)).first(header_bytes + 2)));
}

TEST(frames, an_announcement_has_size_and_digest) {
  const Frame frame{.kind = FrameKind::announce, .serial = 3, .size = 1 << 20, .digest = 7};
  const auto bytes = encoded(frame);
  EXPECT_EQ(bytes.size(), header_bytes + 4);
  const auto read = decode(bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->size, 1u << 20);
  EXPECT_EQ(read->digest, 7u);
  EXPECT_FALSE(decode(std::span(bytes).first(header_bytes)));
}

TEST(frames, word_of_what_an_earlier_life_sent_has_a_digest) {
  const Frame frame{.kind = FrameKind::had,
                    .flow = {.generation = Generation(1), .tag = Tag(2)},
                    .serial = 3,
                    .digest = 0x07060504};
  const auto bytes = encoded(frame);
  EXPECT_EQ(bytes, bytes_of({19, 0, 1, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 3, 0,
                             0,  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 5, 6, 7}));
  const auto read = decode(bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->serial, 3u);
  EXPECT_EQ(read->digest, 0x07060504u);
  EXPECT_FALSE(decode(std::span(bytes).first(header_bytes)));
}

TEST(frames, what_is_no_frame_is_refused) {
  const Frame hello{.kind = FrameKind::hello, .version = 1, .granted = 1000};
  const auto good = encoded(hello);
  ASSERT_TRUE(decode(good));
  for (std::size_t length = 0; length < good.size(); ++length) {
    EXPECT_FALSE(decode(std::span(good).first(length))) << length << " bytes";
  }
  auto longer = good;
  longer.push_back(std::byte{});
  EXPECT_FALSE(decode(longer));
  for (const auto& [at, value] : {std::pair(0, 0), {0, 18}, {0, 20}, {0, 255}, {1, 4}, {3, 1}}) {
    auto bad = good;
    bad[static_cast<std::size_t>(at)] = static_cast<std::byte>(value);
    EXPECT_FALSE(decode(bad)) << "byte " << at << " is " << value;
  }
  const Frame eager{.kind = FrameKind::eager};
  auto kind = encoded(eager, bytes_of({1, 2, 3, 4}));
  ASSERT_TRUE(decode(kind));
  kind[2] = std::byte{3};
  EXPECT_FALSE(decode(kind)) << "an unknown type of message";
  auto digest = encoded(eager);
  digest[header_bytes - 1] = std::byte{1};
  EXPECT_FALSE(decode(digest) || decode_eager(digest)) << "a digest of more than 4 bytes";
}

}  // namespace
}  // namespace weft::message
