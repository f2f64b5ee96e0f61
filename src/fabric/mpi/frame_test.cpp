// SPDX-License-Identifier: Apache-2.0
#include "fabric/mpi/frame.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

namespace weft::mpi {
namespace {

std::vector<std::byte> bytes_of(const Frame& frame) {
  std::vector<std::byte> bytes(longest_header);
  bytes.resize(encode(frame, bytes));
  bytes.insert(bytes.end(), frame.body.begin(), frame.body.end());
  return bytes;
}

TEST(mpi_frame, reads_back_what_was_written) {
  const auto hello = bytes_of({.kind = FrameKind::hello, .incarnation = Incarnation(7)});
  ASSERT_TRUE(decode(hello).has_value());
  EXPECT_EQ(decode(hello)->incarnation, Incarnation(7));
  for (const FrameKind kind : {FrameKind::bye, FrameKind::leave}) {
    EXPECT_EQ(decode(bytes_of({.kind = kind}))->kind, kind);
  }

  const std::array body{std::byte{1}, std::byte{2}, std::byte{3}};
  const auto message = bytes_of({.kind = FrameKind::message, .body = body});
  ASSERT_EQ(message.size(), message_header + body.size());
  EXPECT_TRUE(std::ranges::equal(decode(message)->body, body));

  const auto write = bytes_of(
      {.kind = FrameKind::write, .key = 5, .offset = ~std::uint64_t{0}, .sizes = {1, 1ull << 40}});
  ASSERT_EQ(write.size(), longest_header);
  EXPECT_EQ(decode(write)->key, 5u);
  EXPECT_EQ(decode(write)->offset, ~std::uint64_t{0});
  EXPECT_EQ(decode(write)->sizes[1], 1ull << 40);
}

TEST(mpi_frame, refuses_what_is_short_long_or_unknown) {
  for (const Frame& frame : {Frame{.kind = FrameKind::hello}, Frame{.kind = FrameKind::bye},
                             Frame{.kind = FrameKind::write}}) {
    auto bytes = bytes_of(frame);
    for (std::size_t n = 0; n < bytes.size(); ++n) {
      EXPECT_FALSE(decode(std::span(bytes).first(n)).has_value()) << n;
    }
    bytes.push_back(std::byte{0});
    EXPECT_FALSE(decode(bytes).has_value());
  }
  EXPECT_FALSE(decode(bytes_of({.kind = FrameKind{99}})).has_value());
  auto other = bytes_of({.kind = FrameKind::hello});
  other[8] = std::byte{99};
  EXPECT_FALSE(decode(other).has_value()) << "of another version";
}

}  // namespace
}  // namespace weft::mpi
