// SPDX-License-Identifier: Apache-2.0
// Agreement of all ranks of a group, by a reduction of one value each.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "spmd/uniform_reduction.hpp"
#include "weft/result.hpp"
#include "weft/spmd/group.hpp"

namespace weft::spmd {

/// The values of all ranks, folded. Collective.
template <class T>
Result<T> reduce_value(const Group& group, T value, const Reduction<T>& reduction) {
  std::vector<Rank> members;
  for (std::uint32_t r = 0; r < group.size(); ++r) members.push_back(Rank(r));
  const UniformJob job{group.communicator(), members,         group.rank().value(),
                       std::nullopt,         reduction.raw(), sizeof(T)};
  const auto algorithm = choose_algorithm(sizeof(T), members.size(), false, Grouping::any);
  const auto bytes = std::as_writable_bytes(std::span<T, 1>(&value, 1));
  if (auto done = reduce_uniformly(job, algorithm, bytes); !done.ok()) return done.error();
  return value;
}

/// The error of the lowest rank that has one, on all ranks. Collective.
Result<void> agree(const Group& group, const Result<void>& own);

}  // namespace weft::spmd
