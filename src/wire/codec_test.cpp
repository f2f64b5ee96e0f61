// SPDX-License-Identifier: Apache-2.0
#include "wire/codec.hpp"

#include <gtest/gtest.h>

namespace weft::wire {
namespace {

TEST(codec, reads_back_what_was_written) {
  std::array<std::byte, 16> buffer{};
  Writer out(buffer);
  out.put(std::uint16_t{0x1234});
  out.put(std::uint64_t{7});
  Reader in(out.view());
  EXPECT_EQ(in.get<std::uint16_t>(), 0x1234);
  EXPECT_EQ(in.get<std::uint64_t>(), 7u);
  EXPECT_TRUE(in.done());
}

TEST(codec, short_input_turns_the_reader_bad_for_good) {
  const std::array<std::byte, 3> three{};
  Reader in(three);
  EXPECT_EQ(in.get<std::uint32_t>(), 0u);
  EXPECT_FALSE(in.ok());
  EXPECT_EQ(in.get<std::uint8_t>(), 0u);
  EXPECT_FALSE(in.ok());
}

TEST(codec, little_endian_on_the_wire) {
  std::array<std::byte, 4> buffer{};
  Writer out(buffer);
  out.put(std::uint32_t{0x01020304});
  EXPECT_EQ(buffer[0], std::byte{4});
  EXPECT_EQ(buffer[3], std::byte{1});
}

}  // namespace
}  // namespace weft::wire
