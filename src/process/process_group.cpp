// SPDX-License-Identifier: Apache-2.0
#include "process/process_group.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace weft {
namespace {

constexpr Generation world_generation{1};

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0xbf58476d1ce4e5b9ULL;
  return hash ^ hash >> 29;
}

}  // namespace

ProcessGroup::ProcessGroup(Messenger& messenger, std::vector<NodeId> members, Generation generation)
    : messenger_(messenger), members_(std::move(members)), generation_(generation) {
  const auto self = std::find(members_.begin(), members_.end(), messenger.machine().self());
  WEFT_CHECK(self != members_.end());
  rank_ = Rank(static_cast<std::uint32_t>(self - members_.begin()));
}

std::unique_ptr<ProcessGroup> ProcessGroup::world(Messenger& messenger, std::uint32_t nodes,
                                                  NodeId first) {
  std::vector<NodeId> members(nodes);
  for (std::uint32_t i = 0; i < nodes; ++i) members[i] = NodeId(first.value() + i);
  return std::make_unique<ProcessGroup>(messenger, std::move(members), world_generation);
}

NodeId ProcessGroup::node(Rank rank) const {
  WEFT_CHECK(rank.value() < members_.size(), "rank {} of {}", rank.value(), members_.size());
  return members_[rank.value()];
}

Operation ProcessGroup::start_send(Rank to, Tag tag, std::span<const std::byte> bytes) {
  return messenger_.start_send(node(to), {.generation = generation_, .tag = tag}, bytes);
}

Operation ProcessGroup::start_receive(Rank from, Tag tag, std::span<std::byte> into) {
  return messenger_.start_receive(node(from), {.generation = generation_, .tag = tag}, into);
}

// Everybody counts the groups made, members or not, so that numbers differ also where members are
// the same (paper 4, 4.5.4).
std::unique_ptr<Communicator> ProcessGroup::subgroup(std::span<const Rank> members) {
  std::uint64_t hash = mix(generation_.value(), ++subgroups_);
  std::vector<NodeId> nodes;
  for (const Rank rank : members) {
    nodes.push_back(node(rank));
    hash = mix(hash, nodes.back().value());
  }
  if (std::find(nodes.begin(), nodes.end(), messenger_.machine().self()) == nodes.end()) {
    return nullptr;
  }
  return std::make_unique<ProcessGroup>(messenger_, std::move(nodes), Generation(hash));
}

}  // namespace weft
