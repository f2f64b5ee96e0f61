// SPDX-License-Identifier: Apache-2.0
#include "mpi/object/group.hpp"

#include <gtest/gtest.h>

#include <set>

namespace weft::mpi {
namespace {

TEST(group, children_of_the_world_and_of_one_process_differ) {
  const Group world = world_group(2, NodeId(0)), self = self_group(NodeId(0));
  std::set<std::uint64_t> generations;
  constexpr std::uint64_t children = 1000;
  for (std::uint64_t n = 1; n <= children; ++n) {
    generations.insert(child_generation(world, n, {NodeId(0)}).value());
    generations.insert(child_generation(self, n, {NodeId(0)}).value());
  }
  EXPECT_EQ(generations.size(), 2 * children);
}

}  // namespace
}  // namespace weft::mpi
