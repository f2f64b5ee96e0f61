// SPDX-License-Identifier: Apache-2.0
// SimulatedNode: one node of a stream job on a simulated host: the same machine, sources, sinks and
// schedules as in a process, turned by events of the simulation on a clock of its own. In a divided
// simulation every part has all nodes, but only the part that has a node's host has its machine;
// the others know whether it lives.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "sim/job/hosted_process.hpp"
#include "stream/node/node_turn.hpp"
#include "stream/node/stream_node.hpp"

namespace weft::stream {

/// The data that nodes of a job share. Owned by the job, outlives them.
struct SimulatedPlace {
  const NodeFactory& factory;
  PicoDuration overhead{};  ///< LogGP o: of the processor, for a message sent or received
  Duration sample_every{};
  std::function<void()> on_change;  ///< a node has started, finished or failed
  /// If set, told of every turn that did something and until when it keeps the processor.
  std::function<void(NodeId node, PicoInstant until, const NodeTurn::Done& done)> on_turn = {};
};

class SimulatedNode final : public sim::HostedProcess {
 public:
  SimulatedNode(SimulatedPlace& shared, const sim::ProcessPlace& place);

  /// Returns whether this part has its machine. If not, no state of the machine is known here.
  bool is_here() const { return here_; }
  /// Starts the node's next life. Errors, in the node's own part: those of the factory.
  Result<void> start();
  /// Ends the stream in agreement with the others.
  void stop();
  /// As `kill`, but what its sinks wrote stays, as after SIGKILL.
  void die();

  bool started() const { return node_ != nullptr && node_->started(); }
  /// Its part is over, and all it posted has left.
  bool finished() const { return finished_; }
  std::optional<Error> failure() const {
    return node_ != nullptr ? node_->failure() : std::nullopt;
  }
  /// Here.
  Result<void> add_peer(NodeId peer, Incarnation incarnation, const std::string& address) {
    return fabric_->add_peer(peer, incarnation, address);
  }
  StreamProgress progress() { return node_ != nullptr ? node_->progress() : StreamProgress{}; }
  std::string describe() const { return node_ != nullptr ? node_->describe() : "dead"; }
  /// With times of the simulation in place of the node's clock. Alive, and here.
  NodeReport report();

  void on_timer(std::uint16_t detail, std::uint64_t payload) override;

 private:
  static constexpr std::uint16_t sample_timer = own_timer;

  bool can_work() const override { return node_ != nullptr; }
  void turn() override;
  void close() override;

  SimulatedPlace& shared_;
  bool here_;
  std::unique_ptr<Fabric> fabric_;
  std::unique_ptr<StreamNode> node_;
  std::optional<NodeTurn> loop_;
  bool said_started_ = false;
  std::uint32_t streams_begun_ = 0;  // in all its lives
  bool finished_ = false;
};

}  // namespace weft::stream
