// SPDX-License-Identifier: Apache-2.0
// From the sizes that tools record of a collective operation to those of core/collective.
#pragma once

#include <cstdint>

#include "trace/events/event.hpp"
#include "trace/events/record.hpp"

namespace weft::trace {

/// As OTF2 has them: a member's bytes summed over all members, itself included. A broadcast's root
/// sends its vector to each, an alltoall sends and receives a block per member, a member of a
/// reduce sends its vector once, of an allreduce once to each.
struct CollectiveSizes {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::uint32_t member = 0;
  std::uint32_t members = 1;
  std::uint32_t root = 0;
};

/// The event of a collective, but for its communicator. Errors: an operation that is none of MPI's;
/// a root that does not exist.
Result<Event> collective_event(Collective operation, const CollectiveSizes& sizes);
/// The other way: the sizes that a recorder writes, of this member's own block or vector of
/// `bytes`.
CollectiveSizes recorded_sizes(Collective operation, std::uint64_t bytes, std::uint32_t member,
                               std::uint32_t members, std::uint32_t root);

}  // namespace weft::trace
