// SPDX-License-Identifier: Apache-2.0
// Groups that shrink and grow, and containers that go along.
#include "weft/spmd/group.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/rng.hpp"
#include "spmd/partitioning_message.hpp"
#include "spmd/threads_for_test.hpp"
#include "weft/spmd/container.hpp"

namespace weft::spmd {
namespace {

void write_values(Container<std::int64_t>& data) {
  for (std::size_t k = 0; k < data.slices().size(); ++k) {
    data.view(k).for_each([](Index i, std::int64_t& value) { value = 7 * i.x() + 1; });
  }
}

void expect_values(const Container<std::int64_t>& data) {
  for (std::size_t k = 0; k < data.slices().size(); ++k) {
    data.view(k).for_each([](Index i, std::int64_t& value) { ASSERT_EQ(value, 7 * i.x() + 1); });
  }
}

class groups : public testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(ranks, groups, testing::ValuesIn(tested_ranks));

TEST_P(groups, shrink_to_one_and_grow_again_with_their_data) {
  run_threads(GetParam(), [](Communicator& world) {
    const Group everybody(world);
    const Space space(31);
    Container<std::int64_t> data(everybody, space);
    ASSERT_TRUE(data.switch_to(block(space, everybody.size()), Flow::none).ok());
    write_values(data);
    std::vector<Rank> members;
    for (std::uint32_t r = 0; r < everybody.size(); ++r) members.push_back(Rank(r));
    while (members.size() > 1) {
      members.pop_back();
      const Group smaller = everybody.subgroup(members);
      ASSERT_TRUE(data.move_to(smaller, cyclic(space, smaller.size())).ok());
      EXPECT_EQ(data.slices().empty(), !smaller.is_member());
      expect_values(data);
      // A rank that left hears nothing of the others' switches.
      ASSERT_TRUE(!smaller.is_member() || data.switch_to(block(space, smaller.size())).ok());
      ASSERT_TRUE(data.move_to(everybody, block(space, everybody.size())).ok());
      expect_values(data);
      std::int64_t held = 0;
      for (const Slice& slice : data.slices()) held += slice.box.size();
      EXPECT_EQ(held, block(space, everybody.size()).size(everybody.rank()));
    }
  });
}

TEST_P(groups, that_overlap_hand_data_on) {
  if (GetParam() < 3) return;
  run_threads(GetParam(), [](Communicator& world) {
    const Group everybody(world);
    const Space space(20);
    const Rank left[] = {Rank(1), Rank(0)};
    const Rank right[] = {Rank(2), Rank(1)};
    const Group first = everybody.subgroup(left);
    const Group second = everybody.subgroup(right);
    Container<std::int64_t> data(first, space);
    if (first.is_member()) {
      ASSERT_TRUE(data.switch_to(block(space, 2), Flow::none).ok());
      write_values(data);
    }
    ASSERT_TRUE(data.move_to(second, block(space, 2)).ok());
    expect_values(data);
    EXPECT_EQ(data.slices().size(), second.is_member() ? 1u : 0u);
    EXPECT_TRUE(world.rank() != Rank(2) || data.slices()[0].box == Box::line(0, 10));
  });
}

TEST_P(groups, reassigned_parts_move_without_a_message_to_the_smaller_group) {
  run_threads(GetParam(), [](Communicator& world) {
    const Group everybody(world);
    if (everybody.size() == 1) return;
    const Space space(60);
    const Partitioning before = block(space, everybody.size());
    const Rank leaving[] = {Rank(0)};
    const Partitioning after = reassign(before, leaving);
    const Transition transition = everybody.transition(before, after, Flow::preserve);
    EXPECT_EQ(transition.messages_received() > 0, world.rank() != Rank(0));
    EXPECT_TRUE(world.rank() == Rank(0) || transition.messages_sent() == 0);
    Container<std::int64_t> data(everybody, space);
    ASSERT_TRUE(data.switch_to(before, Flow::none).ok());
    write_values(data);
    ASSERT_TRUE(data.run(transition).ok());
    const Group smaller = everybody.without(leaving);
    EXPECT_EQ(smaller.is_member(), world.rank() != Rank(0));
    std::vector<Rank> renumbered{Rank::max()};
    for (std::uint32_t r = 1; r < everybody.size(); ++r) renumbered.push_back(Rank(r - 1));
    ASSERT_TRUE(data.move_to(smaller, after.renumbered(renumbered, smaller.size())).ok());
    expect_values(data);
  });
}

TEST(partitioning_message, decodes_what_was_encoded) {
  const Space space(9, 7);
  const Partitioning before = halo(bisection(space, 5));
  const auto after = decode_partitioning(encode(before), space, 5);
  ASSERT_TRUE(after.ok());
  for (std::uint32_t r = 0; r < 5; ++r) {
    EXPECT_TRUE(std::ranges::equal(before.slices(Rank(r)), after->slices(Rank(r))));
  }
}

TEST(partitioning_message, is_refused_when_damaged) {
  const Space space(9, 7);
  const std::vector<std::byte> right = encode(bisection(space, 5));
  const auto fails = [&](std::vector<std::byte> bytes) {
    return !decode_partitioning(bytes, space, 5).ok();
  };
  EXPECT_TRUE(fails({}));
  std::vector<std::byte> wrong = right;
  wrong.pop_back();
  EXPECT_TRUE(fails(wrong));
  wrong = right;
  wrong.push_back(std::byte{0});
  EXPECT_TRUE(fails(wrong));
  wrong = right;
  wrong[7] = std::byte{0xff};  // a count of slices beyond the bytes' capacity
  EXPECT_TRUE(fails(wrong));
  wrong = right;
  wrong[16] = std::byte{200};  // a box that ends outside of the space
  EXPECT_TRUE(fails(wrong));
}

TEST(partitioning_message, survives_random_damage) {
  const Space space(9, 7);
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    std::vector<std::byte> bytes = encode(bisection(space, 5));
    for (int i = 0; i < 3; ++i) bytes[rng.below(bytes.size())] = std::byte(rng.below(256));
    (void)decode_partitioning(bytes, space, 5).ok();
  }
}

}  // namespace
}  // namespace weft::spmd
