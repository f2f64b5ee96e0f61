// SPDX-License-Identifier: Apache-2.0
// NodeTurn: one round of driving a node: completions into it, its operations into the fabric.
// NodeLoop calls it in real time, the simulation's nodes in simulated time.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "core/stream/outbox.hpp"
#include "stream/node/stream_node.hpp"
#include "weft/fabric.hpp"

namespace weft::stream {

/// A peer's address and incarnation, as the node gave them to the fabric.
struct PeerPlace {
  Incarnation incarnation{};
  std::string address;
};

class NodeTurn {
 public:
  /// None: the peer is unknown. The driver has the table: one per node would take memory for
  /// every pair of nodes of a simulation.
  using FindPeer = std::function<std::optional<PeerPlace>(NodeId peer)>;

  /// `find_peer` is asked when the machine wants to hang up on a peer, and to connect to it anew.
  NodeTurn(Fabric& fabric, StreamNode& node, FindPeer find_peer)
      : fabric_(fabric), node_(node), find_peer_(std::move(find_peer)) {}

  struct Done {
    std::size_t completions = 0;
    std::size_t messages = 0;  ///< of the completions: received
    std::size_t posted = 0;
    bool moved = false;  ///< anything at all; if not, nothing will until an event or a deadline
  };
  /// Poll, work, post. Operations that the fabric refuses are offered again in the next round.
  Done turn(Instant now);
  /// Everything that was handed to the fabric has left.
  bool flushed() const { return out_.tx.empty() && outstanding_ == 0; }

 private:
  Fabric& fabric_;
  StreamNode& node_;
  Outbox out_;
  FindPeer find_peer_;
  std::size_t outstanding_ = 0;

  void hang_up();
};

}  // namespace weft::stream
