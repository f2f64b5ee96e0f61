// SPDX-License-Identifier: Apache-2.0
// NodeTurn: one round of driving a node: completions into it, its operations into the fabric.
// NodeLoop calls it in real time, the simulation's nodes in simulated time.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "core/stream/outbox.hpp"
#include "stream/node/stream_node.hpp"
#include "weft/fabric.hpp"

namespace weft::stream {

class NodeTurn {
 public:
  NodeTurn(Fabric& fabric, StreamNode& node) : fabric_(fabric), node_(node) {}

  struct Done {
    std::size_t completions = 0;
    std::size_t messages = 0;  ///< of the completions: received
    std::size_t posted = 0;
    bool moved = false;  ///< anything at all; if not, nothing will until an event or a deadline
  };
  /// Makes a peer known to the fabric. Keeps its address, to connect to it anew after the machine
  /// wanted to hang up.
  Result<void> add_peer(NodeId peer, Incarnation incarnation, const std::string& address);
  /// Poll, work, post. Operations that the fabric refuses are offered again in the next round.
  Done turn(Instant now);
  /// Everything that was handed to the fabric has left.
  bool flushed() const { return out_.tx.empty() && outstanding_ == 0; }

 private:
  Fabric& fabric_;
  StreamNode& node_;
  Outbox out_;
  std::size_t outstanding_ = 0;
  struct Place {
    Incarnation incarnation{};
    std::string address;
  };
  std::map<NodeId, Place> peers_;

  void hang_up();
};

}  // namespace weft::stream
