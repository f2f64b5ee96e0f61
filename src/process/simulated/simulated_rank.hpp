// SPDX-License-Identifier: Apache-2.0
// SimulatedRank: a place in a job on a simulated host, and the processes that have it one after the
// other. Turns the simulation's events into a process's going on.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/rng.hpp"
#include "process/job_link.hpp"
#include "process/simulated/counted_fabric.hpp"
#include "process/simulated/rank_times.hpp"
#include "sim/engine/agent.hpp"
#include "sim/fabric/sim_hub.hpp"
#include "sim/run/node_clock.hpp"
#include "sim/scenario/scenario.hpp"
#include "weft/program.hpp"

namespace weft {

class SimulatedLife;

/// What the processes of a job share. Owned by the job, outlives them.
struct ProgramPlace {
  sim::Agents& agents;
  sim::SimHub& hub;
  const sim::Scenario& scenario;
  const JobDescription& job;  ///< as all of them are told
  const Program& program;
  std::span<const std::string> arguments;
  bool over = false;  ///< the launcher has said that all programs are over
  /// The first process says so to the launcher.
  std::function<void()> on_over = {};
  /// A process has ended with that code.
  std::function<void(NodeId rank, int code)> on_end = {};
};

class SimulatedRank final : public sim::Agent {
 public:
  SimulatedRank(ProgramPlace& place, NodeId self, std::uint32_t host, sim::NodeClock clock,
                Rng noise);
  ~SimulatedRank() override;

  /// The next life, without a program as yet: it may be introduced to others.
  void open();
  /// Starts the program. Errors: no memory for its stack, a directory that cannot be written to.
  Result<void> begin();
  /// As SIGKILL would.
  void kill();
  void pause();
  void resume();
  /// Its clock shows so much more from now on.
  void jump_clock(Duration by);
  /// It looks whether there is news, whatever it waits for.
  void wake() { wake_at(now()); }

  bool alive() const { return fabric_ != nullptr; }
  bool paused() const { return paused_; }
  Incarnation incarnation() const { return incarnation_; }
  NodeId self() const { return self_; }
  std::uint32_t host() const { return host_; }
  Fabric& fabric() { return *fabric_; }
  /// How often its fabric has said that there is something.
  std::uint64_t calls() const { return calls_; }
  const RankTimes& times() const { return times_; }

  void on_timer(std::uint16_t detail, std::uint64_t payload) override;
  void on_wake() override;

 private:
  friend class SimulatedLife;

  PicoInstant now() const { return place_.agents.engine().now(); }
  PicoInstant ready_at() const;
  void wake_at(PicoInstant at);
  void draw_noise();
  void close();

  ProgramPlace& place_;
  NodeId self_;
  std::uint32_t host_;
  std::uint32_t agent_;
  sim::NodeClock clock_;
  Rng noise_;
  Incarnation incarnation_{};
  RankTimes times_;
  std::uint64_t calls_ = 0;
  std::unique_ptr<CountedFabric> fabric_;  // null: not alive
  std::unique_ptr<SimulatedLife> life_;    // null: it has not begun
  PicoInstant next_wake_ = PicoInstant::never();
  PicoInstant busy_until_{};  // the processor has work, or noise
  bool paused_ = false;
};

}  // namespace weft
