// SPDX-License-Identifier: Apache-2.0
#include "weft/spmd/reduction.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <string>

#include "base/rng.hpp"
#include "spmd/threads_for_test.hpp"
#include "spmd/uniform_reduction.hpp"
#include "weft/spmd/container.hpp"

namespace weft::spmd {
namespace {

/// x ↦ a·x + b, modulo 2^64: composing them is associative, and does not commute.
struct Affine {
  std::uint64_t a = 1;
  std::uint64_t b = 0;
  bool operator==(const Affine&) const = default;
};

Affine compose(const Affine& left, const Affine& right) {
  return {left.a * right.a, left.a * right.b + left.b};
}

template <class T>
T fold_raw(const Reduction<T>& reduction, T left, T right) {
  reduction.raw().fold(reinterpret_cast<std::byte*>(&left),
                       reinterpret_cast<const std::byte*>(&right), 1);
  return left;
}

TEST(reduction, does_what_its_name_says) {
  EXPECT_EQ(fold_raw(Reduction<int>::sum(), 3, 4), 7);
  EXPECT_EQ(fold_raw(Reduction<int>::product(), 3, 4), 12);
  EXPECT_EQ(fold_raw(Reduction<double>::min(), 3.0, 4.0), 3);
  EXPECT_EQ(fold_raw(Reduction<double>::max(), 3.0, 4.0), 4);
  EXPECT_EQ(fold_raw(Reduction<int>::bit_and(), 6, 3), 2);
  EXPECT_EQ(fold_raw(Reduction<int>::bit_or(), 6, 3), 7);
  EXPECT_EQ(fold_raw(Reduction<bool>::bit_and(), true, false), false);
  EXPECT_EQ(fold_raw(Reduction<int>::any(), 3, 4), 3);
}

TEST(reduction, neutral_value_changes_nothing) {
  EXPECT_EQ(fold_raw(Reduction<int>::min(), Reduction<int>::min().neutral(), 5), 5);
  EXPECT_EQ(fold_raw(Reduction<double>::max(), Reduction<double>::max().neutral(), -1e300), -1e300);
  EXPECT_EQ(fold_raw(Reduction<int>::bit_and(), Reduction<int>::bit_and().neutral(), 5), 5);
  EXPECT_EQ(fold_raw(Reduction<bool>::bit_and(), Reduction<bool>::bit_and().neutral(), true), true);
}

struct AlgorithmCase {
  ReductionAlgorithm algorithm;
  std::uint32_t ranks;
  std::size_t elements;
};

class algorithms : public testing::TestWithParam<AlgorithmCase> {};

std::vector<AlgorithmCase> cases() {
  std::vector<AlgorithmCase> result;
  using enum ReductionAlgorithm;
  for (const auto algorithm : {exchange, tree, recursive_doubling, ring}) {
    for (const std::uint32_t ranks : {1, 2, 3, 4, 5, 6, 7, 8, 13}) {
      for (const std::size_t elements : {1, 5, 70'000}) {
        if (elements > 5 && ranks > 5) continue;
        result.push_back({algorithm, ranks, elements});
      }
    }
  }
  return result;
}

std::string name_of(const testing::TestParamInfo<AlgorithmCase>& info) {
  const char* const names[] = {"exchange", "tree", "recursive_doubling", "ring"};
  return names[static_cast<int>(info.param.algorithm)] + std::string("_of_") +
         std::to_string(info.param.elements) + "_among_" + std::to_string(info.param.ranks);
}

INSTANTIATE_TEST_SUITE_P(all, algorithms, testing::ValuesIn(cases()), name_of);

template <class T, class Make>
void expect_plain_result(const AlgorithmCase& test, const Reduction<T>& reduction, Make&& make,
                         std::optional<std::uint32_t> root) {
  std::vector<T> expected;
  for (std::size_t i = 0; i < test.elements; ++i) {
    T value = make(0, i);
    for (std::uint32_t r = 1; r < test.ranks; ++r) value = fold_raw(reduction, value, make(r, i));
    expected.push_back(value);
  }
  run_threads(test.ranks, [&](Communicator& world) {
    std::vector<Rank> members;
    for (std::uint32_t r = 0; r < test.ranks; ++r) members.push_back(Rank(r));
    const std::uint32_t me = world.rank().value();
    std::vector<T> values;
    for (std::size_t i = 0; i < test.elements; ++i) values.push_back(make(me, i));
    const UniformJob job{world, members, me, root, reduction.raw(), sizeof(T)};
    ASSERT_TRUE(
        reduce_uniformly(job, test.algorithm, std::as_writable_bytes(std::span(values))).ok());
    ASSERT_TRUE((root && *root != me) || values == expected);
  });
}

TEST_P(algorithms, give_the_bits_of_folding_floating_point_in_the_order_of_ranks) {
  const auto make = [](std::uint32_t rank, std::size_t i) {
    return 1.0 / (3.0 + rank * 7.0 + static_cast<double>(i)) * (rank % 2 == 0 ? 1e10 : -1);
  };
  expect_plain_result(GetParam(), Reduction<double>::sum(), make, std::nullopt);
  expect_plain_result(GetParam(), Reduction<double>::sum(), make, GetParam().ranks / 2);
}

TEST_P(algorithms, keep_the_order_of_operations_that_do_not_commute) {
  const auto make = [](std::uint32_t rank, std::size_t i) {
    return Affine{2 * rank + 3, rank * rank + i};
  };
  for (const Grouping grouping : {Grouping::any, Grouping::left_to_right}) {
    const auto reduction = Reduction<Affine>::of(Affine{}, compose, grouping);
    expect_plain_result(GetParam(), reduction, make, std::nullopt);
    expect_plain_result(GetParam(), reduction, make, GetParam().ranks - 1);
  }
}

TEST(algorithm, is_chosen_by_size_and_group) {
  using enum ReductionAlgorithm;
  EXPECT_EQ(choose_algorithm(8, 4, false, Grouping::left_to_right), exchange);
  EXPECT_EQ(choose_algorithm(8, 100, false, Grouping::left_to_right), recursive_doubling);
  EXPECT_EQ(choose_algorithm(8, 100, true, Grouping::left_to_right), tree);
  EXPECT_EQ(choose_algorithm(16 << 10, 100, false, Grouping::any), recursive_doubling);
  EXPECT_EQ(choose_algorithm(16 << 10, 100, false, Grouping::left_to_right), ring);
  EXPECT_EQ(choose_algorithm(8 << 20, 4, false, Grouping::any), ring);
}

// ---- reductions of containers

class reductions : public testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(ranks, reductions, testing::ValuesIn(tested_ranks));

TEST_P(reductions, sum_what_all_wrote_to_all_to_one_and_to_blocks) {
  run_threads(GetParam(), [](Communicator& world) {
    const Group group(world);
    const Space space(11);
    const Partitioning everywhere = all(space, group.size());
    const auto ranks = static_cast<std::int64_t>(group.size());
    for (const Partitioning& to :
         {everywhere, all(space, group.size()), master(space, group.size(), Rank(group.size() - 1)),
          block(space, group.size())}) {
      Container<std::int64_t> data(group, space);
      ASSERT_TRUE(data.switch_to(everywhere, Flow::none).ok());
      data.view().for_each(
          [&](Index i, std::int64_t& value) { value = i.x() + 100 * world.rank().value(); });
      ASSERT_TRUE(data.reduce(to, Reduction<std::int64_t>::sum()).ok());
      for (std::size_t k = 0; k < data.slices().size(); ++k) {
        data.view(k).for_each([&](Index i, std::int64_t& value) {
          ASSERT_EQ(value, i.x() * ranks + 100 * ranks * (ranks - 1) / 2);
        });
      }
    }
  });
}

TEST_P(reductions, of_halos_add_what_neighbours_wrote_of_shared_elements) {
  run_threads(GetParam(), [](Communicator& world) {
    const Group group(world);
    const Space space(6, 6);
    const Partitioning shared = corner_halo(bisection(space, group.size()));
    Container<std::int64_t> data(group, space);
    data.reserve({shared});
    ASSERT_TRUE(data.initialise(shared, 1).ok());
    auto sum = data.prepare(group.transition(shared, shared, Flow::reduce),
                            Reduction<std::int64_t>::sum());
    ASSERT_TRUE(sum.run().ok());
    for (std::size_t k = 0; k < data.slices().size(); ++k) {
      data.view(k).for_each([&](Index i, std::int64_t& value) {
        std::int64_t holders = 0;
        for (std::uint32_t r = 0; r < group.size(); ++r) {
          holders += shared.bounds(Rank(r)).contains(i) ? 1 : 0;
        }
        ASSERT_EQ(value, holders);
      });
    }
  });
}

Partitioning random_partitioning(Rng& rng, const Space& space, std::uint32_t ranks) {
  std::vector<std::vector<Slice>> slices(ranks);
  for (auto& of_rank : slices) {
    for (std::uint64_t n = rng.below(14); n > 0; --n) {
      Box box = space.box();
      for (unsigned d = 0; d < space.dimensions(); ++d) {
        const auto extent = static_cast<std::uint64_t>(space.extent(d));
        const auto from = static_cast<std::int64_t>(rng.below(extent));
        box = box.with(
            d, from, std::min(space.extent(d), from + 1 + static_cast<std::int64_t>(rng.below(4))));
      }
      of_rank.push_back({box, 0});
    }
  }
  return Partitioning(space, std::move(slices));
}

bool holds(const Partitioning& partitioning, std::uint32_t rank, Index at) {
  for (const Slice& slice : partitioning.slices(Rank(rank))) {
    if (slice.box.contains(at)) return true;
  }
  return false;
}

Affine contribution(std::uint32_t rank, Index at) {
  return {3 + rank * 2 + static_cast<std::uint64_t>(at.x()),
          rank + 10 * static_cast<std::uint64_t>(at.y())};
}

void reduce_at_random(Communicator& world, std::uint64_t seed) {
  Rng rng(seed);
  const Group group(world);
  const Space space = rng.below(2) == 0 ? Space(40) : Space(6, 5);
  const Partitioning from = random_partitioning(rng, space, group.size());
  const Partitioning to = rng.below(4) == 0 ? from : random_partitioning(rng, space, group.size());
  const Affine nobody{77, 78};
  Container<Affine> data(group, space);
  if (rng.below(2) == 0) data.reserve({from, to});
  ASSERT_TRUE(data.switch_to(from, Flow::none).ok());
  for (std::size_t k = 0; k < data.slices().size(); ++k) {
    data.view(k).for_each(
        [&](Index at, Affine& value) { value = contribution(world.rank().value(), at); });
  }
  ASSERT_TRUE(data.reduce(to, Reduction<Affine>::of(nobody, compose)).ok());
  for (std::size_t k = 0; k < data.slices().size(); ++k) {
    data.view(k).for_each([&](Index at, Affine& value) {
      std::optional<Affine> expected;
      for (std::uint32_t r = 0; r < group.size(); ++r) {
        if (!holds(from, r, at)) continue;
        expected = expected ? compose(*expected, contribution(r, at)) : contribution(r, at);
      }
      ASSERT_TRUE(value == expected.value_or(nobody));
    });
  }
}

TEST_P(reductions, fold_random_contributions_in_the_order_of_ranks) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    run_threads(
        GetParam(), [&](Communicator& world) { reduce_at_random(world, seed); }, seed);
  }
}

}  // namespace
}  // namespace weft::spmd
