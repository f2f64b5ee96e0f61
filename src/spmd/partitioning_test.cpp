// SPDX-License-Identifier: Apache-2.0
#include "weft/spmd/partitioning.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/rng.hpp"

namespace weft::spmd {
namespace {

std::vector<Box> boxes_of(const Partitioning& partitioning, std::uint32_t rank) {
  std::vector<Box> boxes;
  for (const Slice& slice : partitioning.slices(Rank(rank))) boxes.push_back(slice.box);
  return boxes;
}

using Boxes = std::vector<Box>;

TEST(partitioning, all_and_master_hold_everything) {
  const Space space(10);
  EXPECT_EQ(boxes_of(all(space, 3), 2), Boxes{Box::line(0, 10)});
  EXPECT_FALSE(all(space, 3).is_disjoint());
  const Partitioning root = master(space, 3, Rank(1));
  EXPECT_TRUE(boxes_of(root, 0).empty());
  EXPECT_EQ(boxes_of(root, 1), Boxes{Box::line(0, 10)});
  EXPECT_TRUE(root.is_disjoint() && root.is_complete());
}

TEST(partitioning, block_divides_evenly) {
  const Partitioning blocks = block(Space(10), 4);
  EXPECT_EQ(boxes_of(blocks, 0), Boxes{Box::line(0, 2)});
  EXPECT_EQ(boxes_of(blocks, 1), Boxes{Box::line(2, 5)});
  EXPECT_EQ(boxes_of(blocks, 2), Boxes{Box::line(5, 7)});
  EXPECT_EQ(boxes_of(blocks, 3), Boxes{Box::line(7, 10)});
}

TEST(partitioning, block_of_fewer_elements_than_ranks_leaves_some_empty) {
  const Partitioning blocks = block(Space(2), 7);
  EXPECT_TRUE(blocks.is_complete() && blocks.is_disjoint());
  std::int64_t most = 0;
  for (std::uint32_t r = 0; r < 7; ++r) most = std::max(most, blocks.size(Rank(r)));
  EXPECT_EQ(most, 1);
}

TEST(partitioning, block_divides_the_last_dimension_unless_told) {
  EXPECT_EQ(boxes_of(block(Space(4, 6), 2), 1), Boxes{Box::rectangle(0, 4, 3, 6)});
  EXPECT_EQ(boxes_of(block(Space(4, 6), 2, {.dimension = 0}), 1),
            Boxes{Box::rectangle(2, 4, 0, 6)});
}

TEST(partitioning, block_with_cycles_gives_turns_with_memories_of_their_own) {
  const Partitioning blocks = block(Space(8), 2, {.cycles = 2});
  const auto slices = blocks.slices(Rank(1));
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(slices[0], (Slice{Box::line(2, 4), 0}));
  EXPECT_EQ(slices[1], (Slice{Box::line(6, 8), 1}));
}

// Weights 0, 1, … 9 sum to 45. Index i is in the first half while Σ(j<i) j + i/2 ≤ 22.5: 6 is
// (15 + 3), 7 is not (21 + 3.5).
TEST(partitioning, block_by_index_weight_gives_each_its_share) {
  const Partitioning blocks =
      block(Space(10), 2, {.index_weight = [](std::int64_t i) { return static_cast<double>(i); }});
  EXPECT_EQ(boxes_of(blocks, 0), Boxes{Box::line(0, 7)});
  EXPECT_EQ(boxes_of(blocks, 1), Boxes{Box::line(7, 10)});
}

TEST(partitioning, block_by_rank_weight_leaves_out_who_weighs_nothing) {
  const Partitioning blocks =
      block(Space(12), 4, {.rank_weight = [](Rank r) { return r.value() == 0 ? 0.0 : 1.0; }});
  EXPECT_TRUE(boxes_of(blocks, 0).empty());
  for (std::uint32_t r = 1; r < 4; ++r) EXPECT_EQ(blocks.size(Rank(r)), 4);
  const Partitioning without_last =
      block(Space(7), 3, {.rank_weight = [](Rank r) { return r.value() == 2 ? 0.0 : 1.0; }});
  EXPECT_EQ(without_last.size(Rank(2)), 0);
  EXPECT_TRUE(without_last.is_complete());
}

TEST(partitioning, cyclic_deals_in_turn_into_one_memory) {
  const Partitioning dealt = cyclic(Space(7), 3, 2);
  EXPECT_EQ(boxes_of(dealt, 0), (Boxes{Box::line(0, 2), Box::line(6, 7)}));
  EXPECT_EQ(boxes_of(dealt, 2), Boxes{Box::line(4, 6)});
  ASSERT_EQ(dealt.mappings(Rank(0)).size(), 1u);
  EXPECT_EQ(dealt.mappings(Rank(0))[0], Box::line(0, 7));
}

TEST(partitioning, bisection_cuts_the_longest_side_in_proportion) {
  const Partitioning parts = bisection(Space(12, 4), 3);
  EXPECT_EQ(boxes_of(parts, 0), Boxes{Box::rectangle(0, 4, 0, 4)});
  EXPECT_EQ(boxes_of(parts, 1), Boxes{Box::rectangle(4, 8, 0, 4)});
  EXPECT_EQ(boxes_of(parts, 2), Boxes{Box::rectangle(8, 12, 0, 4)});
}

TEST(partitioning, grid_numbers_parts_along_x_first) {
  const Partitioning parts = grid(Space(4, 6), {2, 3, 1});
  EXPECT_EQ(boxes_of(parts, 3), Boxes{Box::rectangle(2, 4, 2, 4)});
  EXPECT_TRUE(parts.is_disjoint() && parts.is_complete());
}

TEST(partitioning, grid_parts_have_the_least_surface) {
  EXPECT_EQ(grid_parts(Space(100, 100, 100), 8), (std::array<std::uint32_t, 3>{2, 2, 2}));
  EXPECT_EQ(grid_parts(Space(100, 10), 4), (std::array<std::uint32_t, 3>{4, 1, 1}));
  EXPECT_EQ(grid_parts(Space(100), 7), (std::array<std::uint32_t, 3>{7, 1, 1}));
}

TEST(partitioning, halo_adds_neighbours_without_corners) {
  const Partitioning star = halo(grid(Space(6, 6), {3, 3, 1}));
  EXPECT_EQ(star.size(Rank(4)), 4 + 8);
  EXPECT_EQ(star.size(Rank(0)), 4 + 4);
  const Partitioning full = corner_halo(grid(Space(6, 6), {3, 3, 1}));
  EXPECT_EQ(boxes_of(full, 4), Boxes{Box::rectangle(1, 5, 1, 5)});
  EXPECT_EQ(boxes_of(full, 0), Boxes{Box::rectangle(0, 3, 0, 3)});
}

TEST(partitioning, halo_of_an_empty_part_is_empty) {
  EXPECT_EQ(halo(block(Space(2), 3)).size(Rank(0)), 0);
}

TEST(partitioning, copy_takes_a_dimension_from_another_space) {
  const Partitioning rows = block(Space(10), 2);
  const Partitioning matrix = copy(Space(30, 10), rows, 0, 1);
  EXPECT_EQ(boxes_of(matrix, 1), Boxes{Box::rectangle(0, 30, 5, 10)});
  EXPECT_EQ(boxes_of(copy(Space(8), rows), 1), Boxes{Box::line(5, 8)});
}

TEST(partitioning, reassign_moves_only_what_the_leaving_held) {
  const Partitioning before = block(Space(12), 4);
  const Rank leaving[] = {Rank(1)};
  const Partitioning after = reassign(before, leaving);
  EXPECT_EQ(after.size(Rank(1)), 0);
  EXPECT_TRUE(after.is_complete() && after.is_disjoint());
  for (const std::uint32_t r : {0u, 2u, 3u}) {
    EXPECT_EQ(after.size(Rank(r)), 4);
    IndexSet now;
    for (const Box& box : boxes_of(after, r)) now.add(box);
    for (const Box& box : boxes_of(before, r)) {
      EXPECT_EQ(now.intersection(box).size(), box.size());
    }
  }
  EXPECT_EQ(boxes_of(after, 0), Boxes{Box::line(0, 4)});  // one box still: 3 is next to it
}

TEST(partitioning, renumbered_keeps_slices_under_new_ranks) {
  const Rank leaving[] = {Rank(0)};
  const Partitioning before = reassign(block(Space(9), 3), leaving);
  const Rank to[] = {Rank::max(), Rank(0), Rank(1)};
  const Partitioning after = before.renumbered(to, 2);
  EXPECT_EQ(boxes_of(after, 0), boxes_of(before, 1));
  EXPECT_EQ(boxes_of(after, 1), boxes_of(before, 2));
  EXPECT_DEATH(block(Space(9), 3).renumbered(to, 2), "rank 0 leaves, but still holds 3");
}

TEST(partitioning, user_defined_slices_are_checked_and_made_disjoint) {
  const Partitioning twice(Space(10), {{{Box::line(0, 6)}, {Box::line(4, 9)}}});
  EXPECT_EQ(twice.size(Rank(0)), 9);
  const Partitioning two_memories(Space(10), {{{Box::line(0, 6), 0}, {Box::line(4, 9), 1}}});
  EXPECT_EQ(two_memories.size(Rank(0)), 11);
  EXPECT_FALSE(two_memories.is_disjoint());
  EXPECT_DEATH(Partitioning(Space(10), {{{Box::line(5, 11)}}}), "outside of its space");
}

TEST(partitioning, whatever_divides_does_so_completely_and_without_overlap) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const auto extent = [&] { return static_cast<std::int64_t>(1 + rng.below(9)); };
    const Space spaces[] = {Space(extent() * extent()), Space(extent(), extent()),
                            Space(extent(), extent(), extent())};
    const Space& space = spaces[rng.below(3)];
    const auto ranks = static_cast<std::uint32_t>(1 + rng.below(7));
    const auto cycles = static_cast<std::uint32_t>(1 + rng.below(3));
    std::vector<double> weights;
    for (int i = 0; i < 81; ++i) weights.push_back(rng.uniform());
    const auto weight = [&](std::int64_t i) { return weights[static_cast<std::size_t>(i)]; };
    std::vector<Rank> leaving;
    for (std::uint32_t r = 1; r < ranks; ++r) {
      if (rng.below(2) == 0) leaving.push_back(Rank(r));
    }
    const Partitioning all_kinds[] = {
        block(space, ranks, {.cycles = cycles}),
        bisection(space, ranks),
        block(space, ranks, {.cycles = cycles, .index_weight = weight}),
        cyclic(space, ranks, 1 + static_cast<std::int64_t>(rng.below(3))),
        grid(space, grid_parts(space, ranks)),
        reassign(bisection(space, ranks), leaving),
        reassign(block(space, ranks, {.cycles = cycles}), leaving)};
    for (const Partitioning& partitioning : all_kinds) {
      EXPECT_TRUE(partitioning.is_disjoint());
      EXPECT_TRUE(partitioning.is_complete());
    }
  }
}

}  // namespace
}  // namespace weft::spmd
