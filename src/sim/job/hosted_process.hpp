// SPDX-License-Identifier: Apache-2.0
// HostedProcess: a place in a job on a simulated host, and the processes that have it one after the
// other: their clock, when they get the processor, the noise that keeps them from it, their pauses.
// Derived classes define the work that they do with it.
#pragma once

#include <cstdint>

#include "base/rng.hpp"
#include "sim/engine/agent.hpp"
#include "sim/fabric/sim_hub.hpp"
#include "sim/run/node_clock.hpp"
#include "sim/scenario/scenario.hpp"
#include "weft/ids.hpp"
#include "weft/time.hpp"

namespace weft::sim {

/// The place of a process, and its random parameters. Agents and hub outlive it.
struct ProcessPlace {
  Agents& agents;
  SimHub& hub;
  NodeId self;
  std::uint32_t host;
  NodeClock clock;
  NoiseOptions noise;
  Rng rng;  ///< of the noise
};

class HostedProcess : public Agent {
 public:
  /// Nothing lives yet.
  explicit HostedProcess(const ProcessPlace& place);
  HostedProcess(const HostedProcess&) = delete;
  HostedProcess& operator=(const HostedProcess&) = delete;

  /// As SIGKILL would; nothing happens to a dead process.
  void kill();
  /// As SIGSTOP and SIGCONT would. Alive.
  void pause();
  void resume();
  /// Its clock shows so much more from now on; deadlines in between are due.
  void jump_clock(Duration by);

  bool alive() const { return alive_; }
  bool paused() const { return paused_; }
  NodeId self() const { return self_; }
  /// Returns the incarnation of the process's latest life.
  Incarnation incarnation() const { return incarnation_; }

  /// Overridden by classes with timers of their own, from `own_timer` on; passes on all others.
  void on_timer(std::uint16_t detail, std::uint64_t payload) override;
  void on_wake() final;

 protected:
  enum Timer : std::uint16_t { noise_timer, own_timer };

  PicoInstant now() const { return agents_.engine().now(); }
  SimHub& hub() { return hub_; }
  Engine& engine() { return agents_.engine(); }
  /// The time that its clock shows now.
  Instant local_now() const { return clock_.at(now()); }
  const NodeClock& clock() const { return clock_; }

  void begin_life();
  /// Gives back its resources.
  void end_life();
  /// It gets the processor then, or as soon as that is free, unless it does earlier. Not while it
  /// is paused, or has nothing to do.
  void wake_at(PicoInstant at);
  /// The reason to wake it is over.
  void forget_wake() { next_wake_ = PicoInstant::never(); }
  /// The processor has work until then.
  void work_until(PicoInstant until) { busy_until_ = until; }
  PicoInstant busy_until() const { return busy_until_; }
  void set_timer(PicoInstant at, std::uint16_t timer) {
    agents_.set_timer(agent_, host_, at, timer);
  }

 private:
  /// Returns whether there is something in it that would do something with the processor.
  virtual bool can_work() const = 0;
  /// It has the processor now.
  virtual void turn() = 0;
  /// Destroys its live parts, if any.
  virtual void close() = 0;
  void draw_noise();

  Agents& agents_;
  SimHub& hub_;
  NodeId self_;
  std::uint32_t host_;
  std::uint32_t agent_;
  NodeClock clock_;
  NoiseOptions noise_options_;
  Rng noise_;
  Incarnation incarnation_{};
  PicoInstant next_wake_ = PicoInstant::never();
  PicoInstant busy_until_{};  // the processor has work, or noise
  bool alive_ = false;
  bool paused_ = false;
};

}  // namespace weft::sim
