// SPDX-License-Identifier: Apache-2.0
#include "fabric/tcp/frame.hpp"

#include <gtest/gtest.h>

namespace weft::tcp {
namespace {

TEST(frame, has_the_documented_layout) {
  const HeaderBytes bytes = encode({FrameType::write, 0x01020304, 0x1122334455667788, 0x99});
  const std::array<int, kHeaderSize> expected = {4,    3,    2,    1,    2,    0,    0,    0,
                                                 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
                                                 0x99, 0,    0,    0,    0,    0,    0,    0};
  for (std::size_t i = 0; i < kHeaderSize; ++i) {
    EXPECT_EQ(std::to_integer<int>(bytes[i]), expected[i]) << i;
  }
}

TEST(frame, reads_what_it_writes) {
  for (const FrameHeader header : {FrameHeader{FrameType::message, 77, 0, 0},
                                   FrameHeader{FrameType::write, 0xFFFFFFFF, ~0ull, ~0ull},
                                   FrameHeader{FrameType::drain, 0, 0, 0}}) {
    const auto read = decode_header(encode(header));
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->type, header.type);
    EXPECT_EQ(read->length, header.length);
    EXPECT_EQ(read->key, header.key);
    EXPECT_EQ(read->offset, header.offset);
  }
}

TEST(frame, refuses_what_is_no_header) {
  for (const std::size_t at : {5u, 6u, 7u}) {
    HeaderBytes bytes = encode({FrameType::message, 1, 0, 0});
    bytes[at] = std::byte{1};
    EXPECT_FALSE(decode_header(bytes).has_value()) << at;
  }
  for (const int type : {0, 4, 255}) {
    HeaderBytes bytes = encode({FrameType::message, 1, 0, 0});
    bytes[4] = static_cast<std::byte>(type);
    EXPECT_FALSE(decode_header(bytes).has_value()) << type;
  }
  EXPECT_FALSE(decode_header(encode({FrameType::message, 1, 1, 0})).has_value());
  EXPECT_FALSE(decode_header(encode({FrameType::message, 1, 0, 1})).has_value());
  EXPECT_FALSE(decode_header(encode({FrameType::drain, 1, 0, 0})).has_value());
}

}  // namespace
}  // namespace weft::tcp
