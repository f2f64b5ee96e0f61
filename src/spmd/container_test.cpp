// SPDX-License-Identifier: Apache-2.0
#include "weft/spmd/container.hpp"

#include <gtest/gtest.h>

#include <map>

#include "base/rng.hpp"
#include "spmd/threads_for_test.hpp"

namespace weft::spmd {
namespace {

std::int64_t value_of(Index i) {
  return 1 + i.x() + 1000 * i.y() + 1'000'000 * i.z();
}

template <class T>
void write_values(Container<T>& data) {
  for (std::size_t k = 0; k < data.slices().size(); ++k) {
    data.view(k).for_each([](Index i, T& value) { value = static_cast<T>(value_of(i)); });
  }
}

template <class T>
void expect_values(const Container<T>& data) {
  for (std::size_t k = 0; k < data.slices().size(); ++k) {
    data.view(k).for_each([](Index i, T& value) { ASSERT_EQ(value, value_of(i)); });
  }
}

class containers : public testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(ranks, containers, testing::ValuesIn(tested_ranks));

TEST_P(containers, keep_their_values_from_master_to_blocks_and_back) {
  run_threads(GetParam(), [](Communicator& world) {
    const Group group(world);
    const Space space(23);
    Container<std::int64_t> data(group, space);
    EXPECT_TRUE(data.slices().empty());
    ASSERT_TRUE(data.switch_to(master(space, group.size()), Flow::none).ok());
    write_values(data);
    ASSERT_TRUE(data.switch_to(block(space, group.size(), {.cycles = 2})).ok());
    expect_values(data);
    ASSERT_TRUE(data.switch_to(all(space, group.size())).ok());
    EXPECT_EQ(data.values().size(), 23u);
    expect_values(data);
    ASSERT_TRUE(data.switch_to(master(space, group.size())).ok());
    expect_values(data);
  });
}

TEST_P(containers, initialise_gives_every_element_a_value) {
  run_threads(GetParam(), [](Communicator& world) {
    const Group group(world);
    const Space space(5, 6);
    Container<double> data(group, space);
    ASSERT_TRUE(data.initialise(corner_halo(bisection(space, group.size())), 2.5).ok());
    data.view().for_each([](Index, double& value) { ASSERT_EQ(value, 2.5); });
    ASSERT_TRUE(data.switch_to(bisection(space, group.size()), Flow::initialise).ok());
    data.view().for_each([](Index, double& value) { ASSERT_EQ(value, 0); });
  });
}

TEST_P(containers, halo_gets_the_neighbours_elements) {
  run_threads(GetParam(), [](Communicator& world) {
    const Group group(world);
    const Space space(9, 8, 7);
    const Partitioning blocks = bisection(space, group.size());
    Container<std::int64_t> data(group, space);
    ASSERT_TRUE(data.switch_to(blocks, Flow::none).ok());
    write_values(data);
    ASSERT_TRUE(data.switch_to(halo(blocks)).ok());
    expect_values(data);
    ASSERT_TRUE(data.switch_to(corner_halo(blocks, 2)).ok());
    expect_values(data);
  });
}

TEST_P(containers, reserved_memory_does_not_move_and_sequences_run_in_it) {
  run_threads(GetParam(), [](Communicator& world) {
    const Group group(world);
    const Space space(40);
    const Partitioning writes = block(space, group.size());
    const Partitioning reads = corner_halo(writes);
    Container<std::int64_t> data(group, space);
    data.reserve({writes, reads});
    ASSERT_TRUE(data.switch_to(writes, Flow::none).ok());
    const std::int64_t* const place = data.view().data();
    auto exchange = data.prepare(group.transition(writes, reads, Flow::preserve));
    auto back = data.prepare(group.transition(reads, writes, Flow::none));
    for (int round = 0; round < 5; ++round) {
      data.view().for_each([&](Index i, std::int64_t& value) { value = i.x() + round; });
      ASSERT_TRUE(exchange.run().ok());
      data.view().for_each([&](Index i, std::int64_t& value) { ASSERT_EQ(value, i.x() + round); });
      ASSERT_TRUE(back.run().ok());
      ASSERT_EQ(data.view().data(), place);
    }
  });
}

TEST_P(containers, keep_their_values_when_memory_is_reserved_for_what_they_are_in) {
  run_threads(GetParam(), [](Communicator& world) {
    const Group group(world);
    const Space space(7, 6);
    const Partitioning blocks = bisection(space, group.size());
    const Partitioning reads = halo(blocks);
    Container<std::int64_t> data(group, space);
    ASSERT_TRUE(data.switch_to(blocks, Flow::none).ok());
    write_values(data);
    data.reserve({blocks, reads});
    expect_values(data);
    ASSERT_TRUE(data.switch_to(reads).ok());
    expect_values(data);
    data.reserve({blocks});
    EXPECT_FALSE(data.partitioning().has_value());
    EXPECT_TRUE(data.slices().empty());
    EXPECT_TRUE(data.memory().is_empty());
  });
}

TEST_P(containers, may_be_read_while_a_sequence_is_under_way) {
  run_threads(GetParam(), [](Communicator& world) {
    const Group group(world);
    const Space space(12, 12);
    const Partitioning writes = bisection(space, group.size());
    const Partitioning reads = corner_halo(writes);
    Container<std::int64_t> data(group, space);
    data.reserve({writes, reads});
    ASSERT_TRUE(data.switch_to(writes, Flow::none).ok());
    write_values(data);
    auto fetch = data.prepare(group.transition(writes, reads, Flow::preserve));
    fetch.start();
    expect_values(data);  // still the part without its halo
    ASSERT_TRUE(fetch.finish().ok());
    expect_values(data);
  });
}

TEST_P(containers, cached_transition_is_computed_once) {
  run_threads(GetParam(), [](Communicator& world) {
    const Group group(world);
    const Space space(40);
    const Partitioning a = block(space, group.size());
    const Partitioning b = cyclic(space, group.size());
    const Transition first = group.transition(a, b, Flow::preserve);
    group.transition(b, a, Flow::preserve);
    EXPECT_EQ(&group.transition(a, b, Flow::preserve).plan(), &first.plan());
  });
}

TEST_P(containers, transition_sends_each_peer_one_message) {
  run_threads(GetParam(), [](Communicator& world) {
    const Group group(world);
    const Space space(420 * group.size());
    const Transition dealt =
        group.transition(block(space, group.size()), cyclic(space, group.size()), Flow::preserve);
    EXPECT_EQ(dealt.messages_sent(), group.size() - 1);
    EXPECT_EQ(dealt.messages_received(), group.size() - 1);
    EXPECT_EQ(dealt.elements_sent(),
              space.size() / group.size() * (group.size() - 1) / group.size());
  });
}

TEST(container, local_and_global_indices_are_inverse) {
  run_threads(1, [](Communicator& world) {
    const Group group(world);
    const Space space(4, 5);
    Container<std::int64_t> data(group, space);
    ASSERT_TRUE(data.switch_to(all(space, 1), Flow::none).ok());
    write_values(data);
    const auto local = data.local(Index(3, 2));
    ASSERT_TRUE(local.has_value());
    EXPECT_EQ(local->offset, 11);
    EXPECT_EQ(data.global(*local), Index(3, 2));
    EXPECT_EQ(data.at(*local), value_of(Index(3, 2)));
    EXPECT_FALSE(data.local(Index(4, 2)).has_value());
  });
}

TEST(container, view_goes_by_local_and_by_global_indices) {
  run_threads(1, [](Communicator& world) {
    const Group group(world);
    const Space space(6, 5, 4);
    Container<std::int64_t> data(group, space);
    ASSERT_TRUE(data.switch_to(all(space, 1), Flow::none).ok());
    write_values(data);
    const View<std::int64_t> part = data.view().part({{1, 2, 1}, {4, 4, 3}});
    EXPECT_EQ(part(0, 0, 0), value_of(Index(1, 2, 1)));
    EXPECT_EQ(part[Index(3, 3, 2)], value_of(Index(3, 3, 2)));
    EXPECT_EQ(part.row(3, 2).size(), 3u);
    EXPECT_EQ(part.row(3, 2)[1], value_of(Index(2, 3, 2)));
    EXPECT_FALSE(part.is_contiguous());
    EXPECT_TRUE(data.view().is_contiguous());
  });
}

// ---- random partitionings, against a model of which element everybody holds

Space random_space(Rng& rng) {
  const auto extent = [&] { return static_cast<std::int64_t>(1 + rng.below(7)); };
  switch (rng.below(3)) {
    case 0:
      return Space(1 + static_cast<std::int64_t>(rng.below(60)));
    case 1:
      return Space(extent(), extent());
    default:
      return Space(extent(), extent(), extent());
  }
}

Box random_box(Rng& rng, const Space& space) {
  Box box = space.box();
  for (unsigned d = 0; d < space.dimensions(); ++d) {
    const auto n = static_cast<std::uint64_t>(space.extent(d));
    const auto from = static_cast<std::int64_t>(rng.below(n));
    const auto length = static_cast<std::int64_t>(1 + rng.below(n));
    box = box.with(d, from, std::min(space.extent(d), from + length));
  }
  return box;
}

Partitioning random_partitioning(Rng& rng, const Space& space, std::uint32_t ranks) {
  switch (rng.below(8)) {
    case 0:
      return all(space, ranks);
    case 1:
      return master(space, ranks, Rank(static_cast<std::uint32_t>(rng.below(ranks))));
    case 2:
      return block(space, ranks, {.cycles = 1 + static_cast<std::uint32_t>(rng.below(3))});
    case 3:
      return cyclic(space, ranks, 1 + static_cast<std::int64_t>(rng.below(2)));
    case 4:
      return bisection(space, ranks);
    case 5:
      return halo(block(space, ranks, {.cycles = 2}));
    case 6:
      return corner_halo(grid(space, grid_parts(space, ranks)));
    default:
      break;
  }
  std::vector<std::vector<Slice>> slices(ranks);
  for (auto& of_rank : slices) {
    for (std::uint64_t n = rng.below(12); n > 0; --n) {
      of_rank.push_back({random_box(rng, space), static_cast<std::uint32_t>(rng.below(2))});
    }
  }
  return Partitioning(space, std::move(slices));
}

TEST_P(containers, preserve_whatever_somebody_held_through_random_partitionings) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    run_threads(
        GetParam(),
        [&](Communicator& world) {
          Rng rng(seed);
          const Group group(world);
          const Space space = random_space(rng);
          const bool reserves = rng.below(2) == 0;
          std::vector<Partitioning> stations;
          for (int i = 0; i < 5; ++i) {
            stations.push_back(random_partitioning(rng, space, group.size()));
          }
          Container<std::int64_t> data(group, space);
          if (reserves) data.reserve(stations);
          ASSERT_TRUE(data.switch_to(stations[0], Flow::none).ok());
          write_values(data);
          IndexSet held;
          for (std::uint32_t r = 0; r < group.size(); ++r) {
            for (const Slice& slice : stations[0].slices(Rank(r))) held.add(slice.box);
          }
          for (std::size_t i = 1; i < stations.size(); ++i) {
            ASSERT_TRUE(data.switch_to(stations[i]).ok());
            for (std::size_t k = 0; k < data.slices().size(); ++k) {
              data.view(k).for_each([&](Index at, std::int64_t& value) {
                ASSERT_TRUE(!held.contains(at) || value == value_of(at));
              });
            }
            IndexSet still;
            for (std::uint32_t r = 0; r < group.size(); ++r) {
              for (const Slice& slice : stations[i].slices(Rank(r))) still.add(slice.box);
            }
            IndexSet both;
            for (const Box& box : still.boxes()) both.add(held.intersection(box));
            held = both;
          }
        },
        seed);
  }
}

}  // namespace
}  // namespace weft::spmd
