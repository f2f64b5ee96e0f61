// SPDX-License-Identifier: Apache-2.0
// SimulatedNode: one node of a stream job on a simulated host: the same machine, sources, sinks and
// schedules as in a process, turned by events of the simulation on a clock of its own. In a divided
// simulation every part has all nodes, but only the part that has a node's host has its machine;
// the others know whether it lives.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/rng.hpp"
#include "sim/engine/agent.hpp"
#include "sim/fabric/sim_hub.hpp"
#include "sim/run/node_clock.hpp"
#include "sim/scenario/scenario.hpp"
#include "stream/node/node_turn.hpp"
#include "stream/node/stream_node.hpp"

namespace weft::stream {

/// What nodes of a job share. Owned by the job, outlives them.
struct SimulatedPlace {
  sim::Agents& agents;
  sim::SimHub& hub;
  const NodeFactory& factory;
  sim::NoiseOptions noise;
  PicoDuration overhead{};  ///< LogGP o: of the processor, for a message sent or received
  Duration sample_every{};
  std::function<void()> on_change;  ///< a node has started, finished or failed
  /// If set, told of every turn that did something and until when it keeps the processor.
  std::function<void(NodeId node, PicoInstant until, const NodeTurn::Done& done)> on_turn = {};
};

class SimulatedNode final : public sim::Agent {
 public:
  SimulatedNode(SimulatedPlace& place, NodeId self, std::uint32_t host, sim::NodeClock clock,
                Rng noise);

  /// Whether this part has its machine. If not, nothing that the machine says is known here.
  bool is_here() const { return here_; }
  /// Starts the node's next life. Errors, where it is: what the factory refuses.
  Result<void> start();
  /// As SIGKILL would.
  void kill();
  void pause();
  void resume();
  /// Its clock shows so much more from now on; deadlines in between are due.
  void jump_clock(Duration by);
  /// Ends the stream in agreement with the others.
  void stop();

  bool alive() const { return alive_; }
  bool paused() const { return paused_; }
  bool started() const { return node_ != nullptr && node_->started(); }
  /// Its part is over, and all it posted has left.
  bool finished() const { return finished_; }
  std::optional<Error> failure() const {
    return node_ != nullptr ? node_->failure() : std::nullopt;
  }
  Incarnation incarnation() const { return incarnation_; }
  /// Here.
  Fabric& fabric() { return *fabric_; }
  StreamProgress progress() { return node_ != nullptr ? node_->progress() : StreamProgress{}; }
  std::string describe() const { return node_ != nullptr ? node_->describe() : "dead"; }
  /// With times of the simulation in place of the node's clock. Alive, and here.
  NodeReport report();

  void on_timer(std::uint16_t detail, std::uint64_t payload) override;
  void on_wake() override;

 private:
  enum Timer : std::uint16_t { sample_timer, noise_timer };

  PicoInstant now() const { return place_.agents.engine().now(); }
  void turn();
  void turn_at(PicoInstant at);
  void set_timer(PicoInstant at, Timer timer);
  void draw_noise();

  SimulatedPlace& place_;
  NodeId self_;
  std::uint32_t host_;
  bool here_;
  std::uint32_t agent_;
  sim::NodeClock clock_;
  Rng noise_;
  Incarnation incarnation_{};
  std::unique_ptr<Fabric> fabric_;
  std::unique_ptr<StreamNode> node_;
  std::optional<NodeTurn> loop_;
  PicoInstant next_turn_ = PicoInstant::never();
  PicoInstant busy_until_{};  // computing, or kept from it by noise
  bool alive_ = false;
  bool paused_ = false;
  bool said_started_ = false;
  bool finished_ = false;
};

}  // namespace weft::stream
