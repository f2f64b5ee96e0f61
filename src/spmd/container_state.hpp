// SPDX-License-Identifier: Apache-2.0
// The state of a container, which the source files of ContainerBase share.
#pragma once

#include <optional>
#include <vector>

#include "spmd/memory.hpp"
#include "weft/spmd/container.hpp"

namespace weft::spmd {

/// One rank's part of a container. One thread at a time.
struct ContainerBase::State {
  Group group;
  Space space;
  std::size_t element_size;
  std::optional<Partitioning> current{};
  LocalMemory memory{};
  std::vector<Box> mappings{};  // this rank's mappings of `current`
  std::vector<Partitioning> reserved{};
  LocalMemory reserved_memory{};

  /// Makes `partitioning` current, with its elements in `where`.
  void become(const Partitioning& partitioning, LocalMemory where) {
    current = partitioning;
    memory = std::move(where);
    mappings = partitioning.mappings(group.rank());
  }
  /// Returns the current partitioning; before the first switch an empty one, in which no rank holds
  /// an element.
  Partitioning from() const {
    return current ? *current : Partitioning(space, std::vector<std::vector<Slice>>(group.size()));
  }
  /// True when the container reserved memory for `partitioning`.
  bool is_reserved(const Partitioning& partitioning) const {
    for (const Partitioning& each : reserved) {
      if (each.is(partitioning)) return true;
    }
    return false;
  }
  /// Returns the memory for this rank's elements of `to`: the present memory if `to` is current,
  /// the reserved memory if `to` is reserved, else new memory.
  LocalMemory memory_for(const Partitioning& to, Rank rank) const {
    if (current && current->is(to)) return memory;
    if (is_reserved(to)) return reserved_memory;
    return LocalMemory(to.mappings(rank), element_size);
  }
};

}  // namespace weft::spmd
