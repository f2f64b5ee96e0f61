// SPDX-License-Identifier: Apache-2.0
#include "fabric/libfabric/frame.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace weft::ofi {
namespace {

std::vector<std::byte> frame_bytes(FrameKind kind, std::size_t payload) {
  std::vector<std::byte> bytes(sizeof(FrameHeader) + payload);
  FrameHeader header;
  header.kind = kind;
  header.size = static_cast<std::uint32_t>(payload);
  encode_header(header, bytes);
  return bytes;
}

TEST(frame, decodes_what_was_encoded) {
  std::vector<std::byte> bytes(sizeof(FrameHeader) + 3);
  const FrameHeader header{kProtocolVersion, FrameKind::message, 7, 12, 0x1122334455667788, 9, 3};
  encode_header(header, bytes);
  bytes.back() = std::byte{42};
  const auto frame = decode_frame(bytes);
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->header.credits, 7);
  EXPECT_EQ(frame->header.from, 12u);
  EXPECT_EQ(frame->header.token, 0x1122334455667788u);
  EXPECT_EQ(frame->header.sequence, 9u);
  ASSERT_EQ(frame->payload.size(), 3u);
  EXPECT_EQ(frame->payload.back(), std::byte{42});
}

TEST(frame, refuses_what_is_not_a_whole_frame) {
  EXPECT_FALSE(decode_frame({}));
  const auto bytes = frame_bytes(FrameKind::message, 10);
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_FALSE(decode_frame(std::span(bytes).first(n))) << n;
  }
  auto longer = bytes;
  longer.push_back(std::byte{});
  EXPECT_FALSE(decode_frame(longer));
}

TEST(frame, refuses_other_versions_and_kinds) {
  auto bytes = frame_bytes(FrameKind::message, 0);
  bytes[0] = std::byte{kProtocolVersion + 1};
  EXPECT_FALSE(decode_frame(bytes));
  EXPECT_FALSE(decode_frame(frame_bytes(static_cast<FrameKind>(0), 0)));
  EXPECT_FALSE(decode_frame(frame_bytes(static_cast<FrameKind>(200), 0)));
}

TEST(frame, hello_survives_the_wire_and_no_byte_of_it_may_be_missing) {
  Hello hello;
  hello.to = NodeId(3);
  hello.incarnation = Incarnation(9);
  hello.nonce.fill(std::byte{0xAB});
  hello.receiver.fill(std::byte{0xEF});
  hello.attempt = 0x1122334455667788;
  hello.address = "tcp/0200";
  hello.proof.fill(std::byte{0xCD});
  std::vector<std::byte> bytes(256);
  const std::size_t size = encode(hello, bytes);
  bytes.resize(size);
  const auto back = decode_hello(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->to, hello.to);
  EXPECT_EQ(back->incarnation, hello.incarnation);
  EXPECT_EQ(back->nonce, hello.nonce);
  EXPECT_EQ(back->receiver, hello.receiver);
  EXPECT_EQ(back->attempt, hello.attempt);
  EXPECT_EQ(back->address, hello.address);
  EXPECT_EQ(back->proof, hello.proof);
  EXPECT_EQ(proven_part(bytes).size(), size - sizeof(Proof));
  for (std::size_t n = 0; n < size; ++n) EXPECT_FALSE(decode_hello(std::span(bytes).first(n)));
}

TEST(frame, hello_with_a_huge_address_length_is_refused) {
  Hello hello;
  hello.address = "x";
  std::vector<std::byte> bytes(2048);
  encode(hello, bytes);
  const std::uint16_t length = kMaxAddressText + 1;
  std::memcpy(bytes.data() + 48, &length, sizeof length);
  EXPECT_FALSE(decode_hello(bytes));
}

TEST(frame, welcome_survives_the_wire) {
  Welcome welcome;
  welcome.to = NodeId(1);
  welcome.incarnation = Incarnation(2);
  welcome.to_incarnation = Incarnation(3);
  welcome.nonce.fill(std::byte{4});
  welcome.to_nonce.fill(std::byte{5});
  welcome.attempt = 8;
  welcome.window = 6;
  welcome.max_message = 7;
  std::vector<std::byte> bytes(256);
  bytes.resize(encode(welcome, bytes));
  const auto back = decode_welcome(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->to_incarnation, Incarnation(3));
  EXPECT_EQ(back->to_nonce, welcome.to_nonce);
  EXPECT_EQ(back->attempt, 8u);
  EXPECT_EQ(back->window, 6u);
  EXPECT_EQ(back->max_message, 7u);
  bytes.push_back(std::byte{});
  EXPECT_FALSE(decode_welcome(bytes));
}

}  // namespace
}  // namespace weft::ofi
