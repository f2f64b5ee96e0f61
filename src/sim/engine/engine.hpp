// SPDX-License-Identifier: Apache-2.0
// Engine: the simulated time and its events. Handlers register for kinds of events, schedule more
// of them, and are called in one order that depends on nothing but the seed.
#pragma once

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
  /// The event is likely to happen soon: time to fetch its data into the cache. Nothing else may
  /// happen.
  virtual void fetch(const Event& event, Ahead ahead) const;
};

/// Single-threaded. Handlers must outlive it.
class Engine {
 public:
  /// `sources`: how many vertices and agents there are that cause events, 0 … sources−1.
  explicit Engine(std::uint32_t sources) : sequences_(sources, 0) {
    queue_.look_ahead_if(fetches_);
  }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  PicoInstant now() const { return now_; }
  void handle(EventKind kind, EventHandler& handler) {
    handlers_[static_cast<std::size_t>(kind)] = &handler;
  }
  /// Whether handlers are to fetch the data of the next events: worth it where records do not fit
  /// into caches.
  void fetch_ahead_if(bool large) {
    fetches_ = large;
    queue_.look_ahead_if(large);
  }
  /// Returns whether anything looks at what events name before they happen.
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
  /// A wake-up has a place of its own among the events of its instant, behind all that others
  /// cause: when it was scheduled, and whether once or twice, makes no difference. Nothing but
  /// fetches may depend on `detail` and `payload`.
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

  /// The same for an agent that acts on behalf of the vertex; behind the wake-ups of vertices.
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

  /// A timer that all parts of a divided simulation set alike, one after the other, for events of
  /// the whole simulation. It comes behind the vertices' own events of its instant.
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
  /// Whether shared timers count here among the events: in one part they do.
  void count_shared(bool counts) {
    counts_[static_cast<std::size_t>(EventKind::shared_timer)] = counts ? 1 : 0;
  }

  /// An event with the place in the order that `next_sequence` gave it, wherever that was: it was
  /// caused in another process's part of the simulation.
  void schedule_foreign(const Event& event) {
    WEFT_CHECK(event.time >= now_, "a foreign event at {} ps, in the past of {} ps",
               event.time.ticks(), now_.ticks());
    queue_.push(event);
  }
  /// The place among its source's events of one that is to happen in another process's part.
  std::uint32_t next_sequence(std::uint32_t source) { return sequences_[source]++; }

  /// Handles everything before `end`, or until `stop`. Afterwards it is `end`, or the time of the
  /// stop.
  void run_until(PicoInstant end);
  /// Ends `run_until` after the event at hand.
  void stop() { stopping_ = true; }
  bool idle() const { return queue_.empty(); }
  /// Returns when the next event is; never: there is none.
  PicoInstant next_time() { return queue_.empty() ? PicoInstant::never() : queue_.front().time; }

  /// The handler of a wake-up says that it was of use.
  void count_wake() { ++events_; }
  /// Returns when the last of `events` was that is no wake-up. Depends on nothing but the seed.
  PicoInstant last_event() const { return last_; }
  /// Events handled; of the wake-ups those that were of use. Depends on nothing but the seed.
  std::uint64_t events() const { return events_; }
  /// Everything handled, so the work that was done: with it are wake-ups that came to nothing, and
  /// how many of these there are depends on how the work is split.
  std::uint64_t handled() const { return handled_; }
  /// A digest of every event handled, wake-ups apart: equal digests mean that the same happened at
  /// the same times in the same order at every target, in any order between targets.
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
