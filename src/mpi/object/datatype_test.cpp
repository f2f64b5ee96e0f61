// SPDX-License-Identifier: Apache-2.0
#include "mpi/object/datatype.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace weft::mpi {
namespace {

TEST(datatype, neighbours_are_one_run) {
  const Datatype value(Basic::int32);
  const Block block{10, 0, &value};
  const Datatype ten({&block, 1});
  EXPECT_TRUE(ten.is_contiguous());
  ASSERT_EQ(ten.runs().size(), 1u);
  EXPECT_EQ(ten.runs()[0], (mpi::Run{0, 40}));
  EXPECT_EQ(ten.basic(), Basic::int32);
}

TEST(datatype, a_vector_takes_every_other_value_and_puts_it_back) {
  const Datatype value(Basic::int32);
  const std::array<Block, 3> blocks{Block{1, 0, &value}, {1, 8, &value}, {1, 16, &value}};
  const Datatype vector(blocks);
  EXPECT_FALSE(vector.is_contiguous());
  EXPECT_EQ(vector.size(), 12u);
  EXPECT_EQ(vector.extent(), 20);
  // The second element begins where the first ends.
  const std::array<std::int32_t, 10> memory{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  std::vector<std::byte> packed(24);
  vector.pack(memory.data(), 2, packed.data());
  std::array<std::int32_t, 6> values{};
  std::memcpy(values.data(), packed.data(), packed.size());
  EXPECT_EQ(values, (std::array<std::int32_t, 6>{0, 2, 4, 5, 7, 9}));
  std::array<std::int32_t, 10> back{};
  vector.unpack(packed, back.data());
  EXPECT_EQ(back, (std::array<std::int32_t, 10>{0, 0, 2, 0, 4, 5, 0, 7, 0, 9}));
}

TEST(datatype, what_ends_within_an_element_leaves_the_rest_alone) {
  const Datatype value(Basic::int32);
  const std::array<Block, 2> blocks{Block{1, 0, &value}, {1, 8, &value}};
  const std::array<std::byte, 6> packed{std::byte{1}, std::byte{0}, std::byte{0},
                                        std::byte{0}, std::byte{2}, std::byte{3}};
  std::array<std::uint8_t, 12> back{};
  Datatype(blocks).unpack(packed, back.data());
  EXPECT_EQ(back, (std::array<std::uint8_t, 12>{1, 0, 0, 0, 0, 0, 0, 0, 2, 3, 0, 0}));
}

TEST(datatype, a_struct_of_several_kinds_has_gaps_and_no_kind) {
  const Datatype number(Basic::int32), real(Basic::float64);
  const std::array<Block, 2> blocks{Block{1, 0, &number}, {2, 8, &real}};
  const Datatype both(blocks);
  EXPECT_EQ(both.size(), 20u);
  EXPECT_EQ(both.extent(), 24);
  EXPECT_EQ(both.basic(), Basic::none);
  EXPECT_FALSE(both.is_contiguous());
}

TEST(datatype, a_pair_is_as_a_struct_of_its_numbers) {
  const Datatype place(Basic::int32), real(Basic::float64), small(Basic::int16);
  const std::array<Block, 2> of_real{Block{1, 0, &real}, {1, 8, &place}};
  const std::array<Block, 2> of_small{Block{1, 0, &small}, {1, 4, &place}};
  for (const auto& [pair, both] :
       {std::pair{Datatype(Basic::pair_double_int), Datatype(of_real).resized(0, 16)},
        std::pair{Datatype(Basic::pair_short_int), Datatype(of_small)}}) {
    EXPECT_EQ(pair.size(), both.size());
    EXPECT_EQ(pair.extent(), both.extent());
    EXPECT_TRUE(std::ranges::equal(pair.runs(), both.runs()));
  }
}

TEST(datatype, more_values_than_there_is_memory_are_one_run) {
  const Datatype value(Basic::float64);
  const Block block{std::uint64_t{1} << 40, 8, &value};
  const Datatype large({&block, 1});
  ASSERT_EQ(large.runs().size(), 1u);
  EXPECT_EQ(large.size(), std::uint64_t{1} << 43);
}

TEST(datatype, an_extent_that_was_changed_moves_the_next_element) {
  const Datatype value(Basic::int8);
  const Datatype spread = value.resized(0, 3);
  const std::array<std::uint8_t, 6> memory{1, 2, 3, 4, 5, 6};
  std::array<std::byte, 2> packed{};
  spread.pack(memory.data(), 2, packed.data());
  EXPECT_EQ(packed, (std::array<std::byte, 2>{std::byte{1}, std::byte{4}}));
}

}  // namespace
}  // namespace weft::mpi
