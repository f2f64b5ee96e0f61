// SPDX-License-Identifier: Apache-2.0
#include "stream/node/node_loop.hpp"

#include <algorithm>

#include "runtime/clock.hpp"

namespace weft::stream {

NodeLoop::NodeLoop(Fabric& fabric, StreamNode& node, Duration spin)
    : fabric_(fabric),
      node_(node),
      turn_(fabric, node, [this](NodeId peer) { return find_peer(peer); }),
      sleeper_(spin) {
  for (const int descriptor : node.descriptors()) sleeper_.watch(descriptor);
}

Result<void> NodeLoop::add_peer(NodeId peer, Incarnation incarnation, const std::string& address) {
  peers_[peer] = {incarnation, address};
  return fabric_.add_peer(peer, incarnation, address);
}

std::optional<PeerPlace> NodeLoop::find_peer(NodeId peer) const {
  const auto known = peers_.find(peer);
  if (known == peers_.end()) return std::nullopt;
  return known->second;
}

void NodeLoop::turn(Instant until) {
  const Instant now = monotonic_now();
  if (turn_.turn(now).moved) {
    sleeper_.busy(now);
    return;
  }
  // Operations that the fabric refused are offered again when it has made progress.
  sleeper_.idle(now, fabric_, std::min(until, node_.next_deadline()));
}

}  // namespace weft::stream
