// SPDX-License-Identifier: Apache-2.0
// NodeLoop: the driver loop in real time. Turns a node, and sleeps when there is nothing to do.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "runtime/sleeper.hpp"
#include "stream/node/node_turn.hpp"
#include "stream/node/stream_node.hpp"
#include "weft/fabric.hpp"

namespace weft::stream {

class NodeLoop {
 public:
  NodeLoop(Fabric& fabric, StreamNode& node, Duration spin);

  /// Also wakes up for this descriptor.
  void watch(int descriptor) { sleeper_.watch(descriptor); }
  /// Makes a peer known to the fabric. Keeps its address, to connect to it anew after the machine
  /// wanted to hang up.
  Result<void> add_peer(NodeId peer, Incarnation incarnation, const std::string& address);
  /// One round: poll, work, post; sleeps (at most until `until`) if nothing moved.
  void turn(Instant until);
  /// Everything that was handed to the fabric has left.
  bool flushed() const { return turn_.flushed(); }

 private:
  Fabric& fabric_;
  StreamNode& node_;
  std::map<NodeId, PeerPlace> peers_;
  NodeTurn turn_;
  Sleeper sleeper_;

  std::optional<PeerPlace> find_peer(NodeId peer) const;
};

}  // namespace weft::stream
