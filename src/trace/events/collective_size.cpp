// SPDX-License-Identifier: Apache-2.0
#include "trace/events/collective_size.hpp"

#include "base/make_error.hpp"

namespace weft::trace {
namespace {

using collective::Operation;

/// A block of which there is one for each member; when the member's own is left where it is, tools
/// count the others only.
std::uint64_t block_of(std::uint64_t total, std::uint32_t members) {
  return total % members == 0 ? total / members : total / (members - 1);
}

Event event_of(Operation operation, std::uint64_t bytes, bool varies = false) {
  return {
      .kind = Event::Kind::collective, .bytes = bytes, .operation = operation, .varies = varies};
}

std::uint64_t exclusive_scan_bytes(const CollectiveSizes& s) {
  return s.member > 0 ? s.received / s.member : s.sent / (s.members - 1);
}

}  // namespace

Result<Event> collective_event(Collective operation, const CollectiveSizes& s) {
  if (s.root >= s.members) {
    return corrupt("the root is {} of {} members", s.root, s.members);
  }
  const std::uint32_t others = s.members - 1;
  Event event;
  switch (operation) {
    case Collective::barrier:
      event = event_of(Operation::barrier, 0);
      break;
    case Collective::broadcast:
      event = event_of(Operation::broadcast, s.received > 0 ? s.received : s.sent / s.members);
      break;
    case Collective::gather:
      event = event_of(Operation::gather, s.sent > 0 ? s.sent : s.received / others);
      break;
    case Collective::scatter:
      event = event_of(Operation::scatter, s.received > 0 ? s.received : s.sent / others);
      break;
    case Collective::allgather:
      event = event_of(Operation::allgather, block_of(s.received, s.members));
      break;
    case Collective::alltoall:
      event = event_of(Operation::alltoall, block_of(s.sent, s.members));
      break;
    case Collective::allreduce:
      event = event_of(Operation::allreduce, block_of(s.sent, s.members));
      break;
    case Collective::reduce:
      event = event_of(Operation::reduce, s.sent > 0 ? s.sent : s.received / others);
      break;
    case Collective::reduce_scatter:
    case Collective::reduce_scatter_block:
      event = event_of(Operation::reduce_scatter, s.sent / s.members);
      break;
    case Collective::scan:
      event = event_of(Operation::scan, s.received / (s.member + 1));
      break;
    case Collective::exclusive_scan:
      event = event_of(Operation::exclusive_scan, exclusive_scan_bytes(s));
      break;
    case Collective::gatherv:
    case Collective::scatterv:
      event = event_of(operation == Collective::gatherv ? Operation::gather : Operation::scatter,
                       s.sent, true);
      break;
    case Collective::allgatherv:
      event = event_of(Operation::allgather, s.sent / s.members, true);
      break;
    case Collective::alltoallv:
    case Collective::alltoallw:
      event = event_of(Operation::alltoall, s.sent, true);
      break;
    default:
      return corrupt("collective operation {} is none of MPI's", static_cast<unsigned>(operation));
  }
  event.root = s.root;
  event.received = s.received;
  return event;
}

}  // namespace weft::trace
