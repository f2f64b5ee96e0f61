// SPDX-License-Identifier: Apache-2.0
// The state of a container; shared by the files that implement it.
#pragma once

#include <optional>
#include <vector>

#include "spmd/memory.hpp"
#include "weft/spmd/container.hpp"

namespace weft::spmd {

struct ContainerBase::State {
  Group group;
  Space space;
  std::size_t element_size;
  std::optional<Partitioning> current{};
  LocalMemory memory{};
  std::vector<Box> mappings{};  // of `current`, this rank's
  std::vector<Partitioning> reserved{};
  LocalMemory reserved_memory{};

  void become(const Partitioning& partitioning, LocalMemory where) {
    current = partitioning;
    memory = std::move(where);
    mappings = partitioning.mappings(group.rank());
  }
  /// The current one; before the first switch one in which nobody holds anything.
  Partitioning from() const {
    return current ? *current : Partitioning(space, std::vector<std::vector<Slice>>(group.size()));
  }
  bool is_reserved(const Partitioning& partitioning) const {
    for (const Partitioning& each : reserved) {
      if (each.is(partitioning)) return true;
    }
    return false;
  }
  /// The memory for the elements of `to`: the same, the reserved, or a new one.
  LocalMemory memory_for(const Partitioning& to, Rank rank) const {
    if (current && current->is(to)) return memory;
    if (is_reserved(to)) return reserved_memory;
    return LocalMemory(to.mappings(rank), element_size);
  }
};

}  // namespace weft::spmd
