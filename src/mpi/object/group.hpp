// SPDX-License-Identifier: Apache-2.0
// Group: the processes of a communicator, and the contexts that its messages have.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/ids.hpp"
#include "weft/message.hpp"

namespace weft::mpi {

/// The purpose of a flow of the message layer. Each has a generation of its own in each
/// communicator.
enum class Purpose : std::uint8_t {
  envelopes = 1,    ///< tag 0: all messages of one sender, in order, small ones whole
  bodies = 2,       ///< by MPI's tag: those that are not in their envelope
  matches = 3,      ///< by MPI's tag: a synchronous send was matched
  collectives = 4,  ///< tag 0
};

/// Immutable.
struct Group {
  Generation generation{};
  std::vector<NodeId> members;  ///< by rank
  std::uint32_t rank = 0;       ///< this process's

  std::uint32_t size() const { return static_cast<std::uint32_t>(members.size()); }
  Generation generation_for(Purpose purpose) const;
};

/// Returns the group of the job's processes, and the group of this process alone.
Group world_group(std::uint32_t processes, NodeId self);
Group self_group(NodeId self);
/// Returns the group of a spawned world, whose first process is node `first`.
Group spawned_group(std::uint32_t first, std::uint32_t processes, NodeId self);
/// Names the intercommunicator between a spawned world and its parents.
Generation spawned_generation(std::uint32_t first);
/// Returns the group of all nodes that the job may ever have, ordered by their numbers.
Group everybody_group(std::uint32_t nodes, NodeId self);

/// The n-th communicator made of `parent`, by all of its processes, members or not: different for
/// each n and each set of members.
Generation child_generation(const Group& parent, std::uint64_t n,
                            const std::vector<NodeId>& members);

}  // namespace weft::mpi
