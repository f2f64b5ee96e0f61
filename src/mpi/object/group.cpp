// SPDX-License-Identifier: Apache-2.0
#include "mpi/object/group.hpp"

namespace weft::mpi {
namespace {

/// Apart from those of weft's own groups, which begin at 1, and from each other by more than the
/// numbers of children differ: a child of MPI_COMM_SELF is none of MPI_COMM_WORLD.
constexpr Generation world_generation{0x4d50'4900};
constexpr Generation self_generation{0x53e1'f000'4d50'4901};
constexpr Generation spawns_generation{0x53e2'f000'4d50'4902};
constexpr Generation everybody_generation{0x53e3'f000'4d50'4903};

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

Group spawned_group(std::uint32_t first, std::uint32_t processes, NodeId self) {
  Group group{.generation = {}, .members = {}, .rank = self.value() - first};
  for (std::uint32_t i = 0; i < processes; ++i) group.members.emplace_back(first + i);
  group.generation =
      child_generation({.generation = world_generation, .members = {}, .rank = 0}, first, {});
  return group;
}

Generation spawned_generation(std::uint32_t first) {
  return child_generation({.generation = spawns_generation, .members = {}, .rank = 0}, first, {});
}

Group everybody_group(std::uint32_t nodes, NodeId self) {
  Group group = world_group(nodes, self);
  group.generation = everybody_generation;
  return group;
}

Generation child_generation(const Group& parent, std::uint64_t n,
                            const std::vector<NodeId>& members) {
  std::uint64_t hash = mix(parent.generation.value(), 16 + n);
  for (const NodeId node : members) hash = mix(hash, node.value());
  return Generation(hash);
}

}  // namespace weft::mpi
