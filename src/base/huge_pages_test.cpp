// SPDX-License-Identifier: Apache-2.0
#include "base/huge_pages.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace weft {
namespace {

struct alignas(64) Line {
  std::uint64_t number = 0;
};

TEST(huge_pages, a_vector_keeps_its_records_when_it_grows_beyond_a_page) {
  HugeVector<Line> lines;
  for (std::uint64_t i = 0; i < 100'000; ++i) lines.push_back({.number = i});
  for (std::uint64_t i = 0; i < lines.size(); ++i) ASSERT_EQ(lines[i].number, i);
}

TEST(huge_pages, large_vectors_begin_at_a_page_and_small_ones_at_a_record) {
  const auto offset = [](const HugeVector<Line>& lines, std::uintptr_t alignment) {
    return reinterpret_cast<std::uintptr_t>(lines.data()) % alignment;
  };
  EXPECT_EQ(offset(HugeVector<Line>(40'000), std::uintptr_t{2} << 20), 0U);
  EXPECT_EQ(offset(HugeVector<Line>(3), alignof(Line)), 0U);
}

}  // namespace
}  // namespace weft
