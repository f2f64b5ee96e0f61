// SPDX-License-Identifier: Apache-2.0
#include "fabric/shaped/marker.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weft::shaped {
namespace {

std::vector<std::byte> encoded(const Marker& marker, std::size_t payload) {
  std::vector<std::byte> bytes(Marker::size + payload);
  encode(marker, std::span(bytes).first<Marker::size>());
  return bytes;
}

TEST(shaped_marker, round_trips) {
  const Marker marker{Marker::Kind::message, 8192, HostInstant(-5)};
  const auto decoded = decode_marker(encoded(marker, 100));
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->kind, Marker::Kind::message);
  EXPECT_EQ(decoded->bytes, 8192u);
  EXPECT_EQ(decoded->arrives, HostInstant(-5));
}

TEST(shaped_marker, refuses_what_no_shaped_endpoint_sends) {
  const auto good = encoded({Marker::Kind::filler, 1, HostInstant(1)}, 0);
  ASSERT_TRUE(decode_marker(good).has_value());
  EXPECT_FALSE(decode_marker(std::span(good).first(15)).has_value());
  EXPECT_FALSE(decode_marker({}).has_value());
  EXPECT_FALSE(decode_marker(encoded({Marker::Kind::filler, 1, HostInstant(1)}, 1)).has_value());
  EXPECT_FALSE(
      decode_marker(encoded({Marker::Kind::filler, Marker::max_bytes + 1, HostInstant(1)}, 0)));
  for (const std::size_t at : {0u, 1u, 2u, 3u}) {
    auto bad = good;
    bad[at] = std::byte{0x77};
    EXPECT_FALSE(decode_marker(bad).has_value()) << "byte " << at;
  }
}

}  // namespace
}  // namespace weft::shaped
