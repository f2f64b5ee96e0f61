// SPDX-License-Identifier: Apache-2.0
// Whom a process waits for. A process that has exited is restarted when it is missed, and then
// needs others in turn: nobody misses one whose messages it does not want.
#include "mpi/object/transfer_lane.hpp"

namespace weft::mpi {

std::optional<Status> Transfer::probe(const Group& group, std::uint32_t from, std::int32_t tag) {
  if (const auto found = waiting(group, from, tag)) return found;
  const Wants wants(*this, Wanted::member_of(group, from));
  turn();
  return waiting(group, from, tag);
}

std::optional<Status> Transfer::await(const Group& group, std::uint32_t from, std::int32_t tag) {
  const Wants wants(*this, Wanted::member_of(group, from));
  std::optional<Status> found;
  until([&] { return (found = waiting(group, from, tag)).has_value(); });
  return found;
}

void Transfer::for_each_wanted(const WantedPeers::Visit& visit) const {
  const auto want = [&](const Wanted& wanted) {
    if (wanted.any_of == nullptr) return visit(wanted.peer);
    for (const NodeId any : wanted.any_of->members) visit(any);
  };
  for (const Wanted& each : wanted_) want(each);
  matcher_.for_each_receive([&](const match::Envelope& pattern, match::Token receive) {
    want(Wanted::member_of(*reinterpret_cast<const Request*>(receive)->group, pattern.source));
  });
  for (const auto& [group, lanes] : lanes_) {
    for (const auto& lane : lanes.by_source) {
      if (!lane->wanted.empty()) visit(lane->sender());
    }
  }
  // Waits name these; tests do not.
  for (const Operation operation : operations_) {
    const auto* const state =
        messenger_.is_ready(operation) ? nullptr : messenger_.machine().find(operation);
    if (state != nullptr) visit(state->peer);
  }
}

}  // namespace weft::mpi
