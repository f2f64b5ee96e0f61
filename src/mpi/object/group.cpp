// SPDX-License-Identifier: Apache-2.0
#include "mpi/object/group.hpp"

namespace weft::mpi {
namespace {

/// Apart from those of weft's own groups, which begin at 1.
constexpr Generation world_generation{0x4d50'4900};
constexpr Generation self_generation{0x4d50'4901};

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x94d049bb133111ebULL;
  return hash ^ hash >> 31;
}

}  // namespace

Generation Group::generation_for(Purpose purpose) const {
  return Generation(mix(generation.value(), static_cast<std::uint64_t>(purpose)));
}

Group world_group(std::uint32_t processes, NodeId self) {
  Group group{.generation = world_generation, .members = {}, .rank = self.value()};
  for (std::uint32_t i = 0; i < processes; ++i) group.members.emplace_back(i);
  return group;
}

Group self_group(NodeId self) {
  return {.generation = self_generation, .members = {self}, .rank = 0};
}

Generation child_generation(const Group& parent, std::uint64_t n,
                            const std::vector<NodeId>& members) {
  std::uint64_t hash = mix(parent.generation.value(), 16 + n);
  for (const NodeId node : members) hash = mix(hash, node.value());
  return Generation(hash);
}

}  // namespace weft::mpi
