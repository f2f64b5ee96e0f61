// SPDX-License-Identifier: Apache-2.0
#include "weft/spmd/space.hpp"

#include <gtest/gtest.h>

#include <set>

#include "base/rng.hpp"

namespace weft::spmd {
namespace {

TEST(box, counts_its_indices) {
  EXPECT_EQ(Box::line(3, 7).size(), 4);
  EXPECT_EQ(Box::rectangle(0, 4, 2, 5).size(), 12);
  EXPECT_EQ(Box::line(7, 3).size(), 0);
  EXPECT_TRUE(Box{}.is_empty());
}

TEST(box, intersects_and_bounds_by_hand) {
  const Box a = Box::rectangle(0, 4, 0, 4);
  const Box b = Box::rectangle(2, 6, 3, 9);
  EXPECT_EQ(a.intersection(b), Box::rectangle(2, 4, 3, 4));
  EXPECT_EQ(a.bounding(b), Box::rectangle(0, 6, 0, 9));
  EXPECT_EQ(a.bounding(Box{}), a);
  EXPECT_TRUE(a.contains(Box{}));
  EXPECT_FALSE(a.contains(b));
}

TEST(box, difference_is_disjoint_and_has_what_is_left) {
  const Box box{{0, 0, 0}, {5, 4, 3}};
  const Box hole{{1, 1, 1}, {3, 2, 2}};
  std::vector<Box> rest;
  append_difference(box, hole, rest);
  EXPECT_EQ(rest.size(), 6u);
  std::int64_t total = 0;
  for (const Box& part : rest) {
    total += part.size();
    EXPECT_FALSE(part.intersects(hole));
    for (const Box& other : rest) EXPECT_TRUE(&part == &other || !part.intersects(other));
  }
  EXPECT_EQ(total, box.size() - hole.size());
}

TEST(box, is_written_as_its_ranges) {
  EXPECT_EQ(to_text(Box::rectangle(0, 4, 2, 5), 2), "[0,4)x[2,5)");
}

TEST(space, has_one_to_three_dimensions) {
  EXPECT_EQ(Space(7).dimensions(), 1u);
  EXPECT_EQ(Space(7, 2).size(), 14);
  EXPECT_EQ(Space(7, 2, 3).extent(2), 3);
  EXPECT_EQ(Space(7), Space(7));
  EXPECT_FALSE(Space(7) == Space(7, 1));
  EXPECT_DEATH(Space(0), "a space of 0 indices");
}

TEST(index_set, of_single_indices_merges_runs) {
  const std::int64_t indices[] = {5, 1, 2, 2, 9, 3};
  const IndexSet set = IndexSet::of(indices);
  ASSERT_EQ(set.boxes().size(), 3u);
  EXPECT_EQ(set.boxes()[0], Box::line(1, 4));
  EXPECT_EQ(set.size(), 5);
  EXPECT_TRUE(set.contains(9));
  EXPECT_FALSE(set.contains(4));
}

TEST(index_set, does_what_a_set_of_indices_does) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    IndexSet set;
    std::set<std::array<std::int64_t, 3>> model;
    for (int step = 0; step < 12; ++step) {
      Box box;
      for (unsigned d = 0; d < 3; ++d) {
        const auto from = static_cast<std::int64_t>(rng.below(6));
        box = box.with(d, from, from + static_cast<std::int64_t>(rng.below(4)));
      }
      const bool adds = rng.below(3) > 0;
      adds ? set.add(box) : set.remove(box);
      for (std::int64_t z = box.from.z(); z < box.to.z(); ++z) {
        for (std::int64_t y = box.from.y(); y < box.to.y(); ++y) {
          for (std::int64_t x = box.from.x(); x < box.to.x(); ++x) {
            if (adds) model.insert({x, y, z});
            if (!adds) model.erase({x, y, z});
          }
        }
      }
      ASSERT_EQ(set.size(), static_cast<std::int64_t>(model.size()));
      for (const auto& at : model) ASSERT_TRUE(set.contains(Index(at[0], at[1], at[2])));
    }
  }
}

}  // namespace
}  // namespace weft::spmd
