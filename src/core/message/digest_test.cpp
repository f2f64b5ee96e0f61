// SPDX-License-Identifier: Apache-2.0
#include "core/message/digest.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <span>
#include <vector>

namespace weft::message {
namespace {

TEST(digest, depends_on_the_bytes_and_not_on_how_much_of_them_is_the_head) {
  for (const std::size_t size : {0, 1, 7, 8, 9, 16, 24, 31, 100, 1024, 1040, 5000, 30'003}) {
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 256);
    const std::span<const std::byte> all(bytes);
    const std::uint64_t whole = digest_after(first_digest, 5, all);
    for (std::size_t head = 0; head <= std::min<std::size_t>(size, 32); ++head) {
      EXPECT_EQ(digest_after(first_digest, 5, all.first(head), all.subspan(head)), whole)
          << head << " of " << size;
    }
  }
}

TEST(digest, differs_with_the_serial_the_length_and_every_byte_of_a_short_message) {
  std::set<std::uint64_t> seen;
  std::size_t messages = 0;
  for (std::size_t size = 0; size < 40; ++size) {
    std::vector<std::byte> bytes(size);
    for (Serial serial = 0; serial < 3; ++serial) {
      seen.insert(digest_after(first_digest, serial, bytes));
      ++messages;
    }
    for (std::byte& byte : bytes) {
      byte = std::byte{1};
      seen.insert(digest_after(first_digest, 0, bytes));
      byte = std::byte{0};
      ++messages;
    }
  }
  EXPECT_EQ(seen.size(), messages);
}

}  // namespace
}  // namespace weft::message
