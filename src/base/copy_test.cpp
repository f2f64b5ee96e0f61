// SPDX-License-Identifier: Apache-2.0
#include "base/copy.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weft {
namespace {

TEST(copy_bytes, copies_any_number_and_nothing_beside_them) {
  for (std::size_t size = 0; size <= 200; ++size) {
    std::vector<std::byte> from(size), to(size + 2, std::byte{0xEE});
    for (std::size_t i = 0; i < size; ++i) from[i] = static_cast<std::byte>(i + 1);
    copy_bytes(to.data() + 1, from.data(), size);
    EXPECT_EQ(to.front(), std::byte{0xEE}) << size;
    EXPECT_EQ(to.back(), std::byte{0xEE}) << size;
    EXPECT_TRUE(std::equal(from.begin(), from.end(), to.begin() + 1)) << size;
  }
}

}  // namespace
}  // namespace weft
