// SPDX-License-Identifier: Apache-2.0
// Agents: all actors of a simulation other than the network (traffic, nodes of jobs, faults), each
// with timers of its own.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/engine.hpp"

namespace weft::sim {

class Agent {
 public:
  virtual ~Agent() = default;
  /// A timer set by `Agents::set_timer` is due; `detail` and `payload` are those it was set with.
  virtual void on_timer(std::uint16_t detail, std::uint64_t payload) = 0;
  /// The time of a wake-up has come that `Agents::set_wake` set; perhaps several times.
  virtual void on_wake() {}
  /// A timer of that payload is likely to be due soon; see EventHandler::fetch.
  virtual void fetch(std::uint64_t /*payload*/, Ahead /*ahead*/) const {}
};

/// Numbers agents and hands them their timers. Agents and engine outlive it.
class Agents final : public EventHandler {
 public:
  explicit Agents(Engine& engine) : engine_(engine) {
    engine.handle(EventKind::timer, *this);
    engine.handle(EventKind::shared_timer, *this);
    engine.handle(EventKind::agent_wakes, *this);
  }

  std::uint32_t add(Agent& agent) {
    agents_.push_back(&agent);
    return static_cast<std::uint32_t>(agents_.size() - 1);
  }
  /// `source` is the vertex on whose behalf the agent acts: timers of different vertices at one
  /// instant are in the order of the vertices. A timer cannot be taken back; an agent that changes
  /// its mind ignores it.
  void set_timer(std::uint32_t agent, std::uint32_t source, PicoInstant at,
                 std::uint16_t detail = 0, std::uint64_t payload = 0) {
    engine_.schedule(source, at, EventKind::timer, agent, detail, payload);
  }
  /// On behalf of no vertex: for actions that all parts of a divided simulation take at once. All
  /// of them set the same timers in the same order.
  void set_shared_timer(std::uint32_t agent, PicoInstant at, std::uint16_t detail = 0,
                        std::uint64_t payload = 0) {
    engine_.schedule_shared(at, agent, detail, payload);
  }
  /// The wake-up comes behind all else at that instant, in a place that does not depend on when it
  /// was set: one part of a divided simulation may know its cause earlier than another. An agent
  /// that finds work to do counts the wake-up (Engine::count_wake).
  void set_wake(std::uint32_t agent, std::uint32_t source, PicoInstant at) {
    engine_.schedule_agent_wake(source, at, agent);
  }
  Engine& engine() { return engine_; }
  void on_event(const Event& event) override {
    if (event.kind == EventKind::agent_wakes) return agents_[event.target]->on_wake();
    agents_[event.target]->on_timer(event.detail, event.payload);
  }
  void fetch(const Event& event, Ahead ahead) const override {
    if (event.kind == EventKind::timer) agents_[event.target]->fetch(event.payload, ahead);
  }

 private:
  Engine& engine_;
  std::vector<Agent*> agents_;
};

}  // namespace weft::sim
