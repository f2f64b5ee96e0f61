// SPDX-License-Identifier: Apache-2.0
// Engine: the simulated time and its events. Handlers register for kinds of events, schedule more
// of them, and are called in one order that depends on nothing but the seed.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/check.hpp"
#include "sim/engine/event.hpp"
#include "sim/engine/event_queue.hpp"
#include "weft/time.hpp"

namespace weft::sim {

class EventHandler {
 public:
  virtual ~EventHandler() = default;
  virtual void on_event(const Event& event) = 0;
  /// Prefetches the data of an event that is likely to happen soon. Must have no other effect.
  virtual void fetch(const Event& event, Ahead ahead) const;
};

/// Single-threaded. Handlers must outlive it.
class Engine {
 public:
  /// `sources`: number of vertices and agents that cause events, 0 … sources−1.
  explicit Engine(std::uint32_t sources) : sequences_(sources, 0) {
    queue_.look_ahead_if(fetches_);
  }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  PicoInstant now() const { return now_; }
  void handle(EventKind kind, EventHandler& handler) {
    handlers_[static_cast<std::size_t>(kind)] = &handler;
  }
  /// Turns prefetching by handlers on or off: worth it where records do not fit into caches.
  void fetch_ahead_if(bool large) {
    fetches_ = large;
    queue_.look_ahead_if(large);
  }
  /// Returns whether handlers prefetch the data of coming events.
  bool fetches_ahead() const { return fetches_; }

  /// `at` is not before now.
  void schedule(std::uint32_t source, PicoInstant at, EventKind kind, std::uint32_t target,
                std::uint16_t detail, std::uint64_t payload) {
    WEFT_CHECK(at >= now_, "an event at {} ps, in the past of {} ps", at.ticks(), now_.ticks());
    queue_.push({.time = at,
                 .sequence = sequences_[source]++,
                 .source = source,
                 .target = target,
                 .kind = kind,
                 .detail = detail,
                 .payload = payload});
  }
  /// Counts an event of which no handler has to hear, as if it had happened: later than now.
  void count(std::uint32_t source, PicoInstant at, EventKind kind, std::uint32_t target);
  /// A wake-up comes after all events of its instant that have other causes, whenever it was
  /// scheduled, and whether once or twice. Only prefetches may depend on `detail` and `payload`.
  void schedule_wake(std::uint32_t vertex, PicoInstant at, EventKind kind, std::uint32_t target,
                     std::uint16_t detail = 0, std::uint64_t payload = 0) {
    queue_.push({.time = at,
                 .sequence = target,
                 .source = kWake | vertex,
                 .target = target,
                 .kind = kind,
                 .detail = detail,
                 .payload = payload});
  }

  /// The same for an agent that acts for the vertex; after the wake-ups of vertices.
  void schedule_agent_wake(std::uint32_t vertex, PicoInstant at, std::uint32_t agent) {
    WEFT_CHECK(at >= now_, "a wake-up at {} ps, in the past of {} ps", at.ticks(), now_.ticks());
    queue_.push({.time = at,
                 .sequence = agent,
                 .source = kAgentWake | vertex,
                 .target = agent,
                 .kind = EventKind::agent_wakes,
                 .detail = 0,
                 .payload = 0});
  }

  /// A timer for an event of the whole simulation. All parts of a divided simulation set the same
  /// timers in the same order. It comes after the vertices' own events of its instant.
  void schedule_shared(PicoInstant at, std::uint32_t target, std::uint16_t detail,
                       std::uint64_t payload) {
    WEFT_CHECK(at >= now_, "a timer at {} ps, in the past of {} ps", at.ticks(), now_.ticks());
    queue_.push({.time = at,
                 .sequence = shared_sequence_++,
                 .source = kShared,
                 .target = target,
                 .kind = EventKind::shared_timer,
                 .detail = detail,
                 .payload = payload});
  }
  /// Makes shared timers count as events here, or not: in one part they do.
  void count_shared(bool counts) {
    counts_[static_cast<std::size_t>(EventKind::shared_timer)] = counts ? 1 : 0;
  }

  /// Adds an event from another process's part of the simulation, with the place in the order that
  /// `next_sequence` gave it there.
  void schedule_foreign(const Event& event) {
    WEFT_CHECK(event.time >= now_, "a foreign event at {} ps, in the past of {} ps",
               event.time.ticks(), now_.ticks());
    queue_.push(event);
  }
  /// The place in its source's order of an event for another process's part.
  std::uint32_t next_sequence(std::uint32_t source) { return sequences_[source]++; }

  /// Handles all events before `end`, or until `stop`. Then the time is `end`, or that of the stop.
  void run_until(PicoInstant end);
  /// Ends `run_until` after the event at hand.
  void stop() { stopping_ = true; }
  bool idle() const { return queue_.empty(); }
  /// Returns when the next event is; never: there is none.
  PicoInstant next_time() { return queue_.empty() ? PicoInstant::never() : queue_.front().time; }

  /// A handler reports that its wake-up had an effect.
  void count_wake() { ++events_; }
  /// Returns the time of the last event other than wake-ups. Depends on nothing but the seed.
  PicoInstant last_event() const { return std::max(last_, last_counted_); }
  /// Events handled or counted; of wake-ups, only those with an effect. Depends on nothing but the
  /// seed.
  std::uint64_t events() const { return events_; }
  /// All events handled, a measure of the work: it includes wake-ups without effect, whose number
  /// depends on how the simulation is divided.
  std::uint64_t handled() const { return handled_; }
  /// A digest of all events handled or counted but wake-ups: equal digests mean the same events at
  /// the same times, in the same order at each target, in any order between targets.
  std::uint64_t trace_hash() const { return hash_; }

 private:
  void fetch_ahead() const;

  static constexpr std::uint32_t kShared = 0x7fff'ffff;
  static constexpr std::uint32_t kWake = 0x8000'0000;
  static constexpr std::uint32_t kAgentWake = 0xc000'0000;

  static constexpr std::array<std::uint64_t, 8> all_but_wakes() {
    std::array<std::uint64_t, 8> counts{};
    counts.fill(1);
    counts[static_cast<std::size_t>(EventKind::port_wakes)] = 0;
    counts[static_cast<std::size_t>(EventKind::agent_wakes)] = 0;
    return counts;
  }

  EventQueue queue_;
  PicoInstant now_{};
  PicoInstant last_{};
  PicoInstant last_counted_{};                             // by `count`
  std::array<EventHandler*, 8> handlers_{};                // by kind
  std::array<std::uint64_t, 8> counts_ = all_but_wakes();  // 1: events of the kind count
  std::vector<std::uint32_t> sequences_;
  std::uint64_t events_ = 0;
  std::uint64_t handled_ = 0;
  std::uint64_t hash_ = 0;
  std::uint32_t shared_sequence_ = 0;
  bool fetches_ = false;
  bool stopping_ = false;
};

}  // namespace weft::sim
