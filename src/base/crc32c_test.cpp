// SPDX-License-Identifier: Apache-2.0
#include "base/crc32c.hpp"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "base/rng.hpp"

namespace weft {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::vector<std::byte> random_bytes(std::size_t n, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<std::byte> bytes(n);
  for (auto& b : bytes) b = static_cast<std::byte>(rng.next());
  return bytes;
}

TEST(crc32c, gives_the_check_value_of_the_catalogue) {
  EXPECT_EQ(crc32c(bytes_of("123456789")), 0xE3069283u);
  EXPECT_EQ(crc32c_by_table(bytes_of("123456789")), 0xE3069283u);
  EXPECT_EQ(crc32c({}), 0u);
}

// The vectors of RFC 3720, appendix B.4.
TEST(crc32c, gives_the_values_of_iscsi) {
  std::vector<std::byte> bytes(32);
  EXPECT_EQ(crc32c(bytes), 0x8A9136AAu);
  for (auto& b : bytes) b = std::byte{0xFF};
  EXPECT_EQ(crc32c(bytes), 0x62A8AB43u);
  for (std::size_t i = 0; i < 32; ++i) bytes[i] = static_cast<std::byte>(i);
  EXPECT_EQ(crc32c(bytes), 0x46DD794Eu);
  for (std::size_t i = 0; i < 32; ++i) bytes[i] = static_cast<std::byte>(31 - i);
  EXPECT_EQ(crc32c(bytes), 0x113FDB5Cu);
}

TEST(crc32c, instruction_and_table_agree_on_every_length_and_alignment) {
  const auto bytes = random_bytes(40'000, 1);
  for (std::size_t start = 0; start < 9; ++start) {
    for (std::size_t n = 0; n < 1'700; n += 1 + n / 64) {
      const auto part = std::span(bytes).subspan(start, n);
      ASSERT_EQ(crc32c(part), crc32c_by_table(part)) << start << " " << n;
    }
    const auto rest = std::span(bytes).subspan(start);
    ASSERT_EQ(crc32c(rest), crc32c_by_table(rest));
  }
}

TEST(crc32c, continues_where_it_stopped) {
  const auto bytes = random_bytes(20'000, 2);
  const auto whole = crc32c(bytes);
  for (const std::size_t cut : {0, 1, 7, 8, 767, 768, 6'144, 10'000, 19'999, 20'000}) {
    const auto first = crc32c(std::span(bytes).first(cut));
    EXPECT_EQ(crc32c(std::span(bytes).subspan(cut), first), whole) << cut;
  }
}

TEST(crc32c, notices_a_single_bit) {
  auto bytes = random_bytes(6'200, 3);
  const auto whole = crc32c(bytes);
  for (const std::size_t at : {0, 2'047, 2'048, 6'143, 6'144, 6'199}) {
    bytes[at] ^= std::byte{0x10};
    EXPECT_NE(crc32c(bytes), whole) << at;
    bytes[at] ^= std::byte{0x10};
  }
}

}  // namespace
}  // namespace weft
