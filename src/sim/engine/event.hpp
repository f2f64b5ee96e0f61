// SPDX-License-Identifier: Apache-2.0
// Event describes what happens to one vertex or agent at one picosecond.
#pragma once

#include <cstdint>

#include "weft/time.hpp"

namespace weft::sim {

/// Names an event's handler, which alone interprets `Event::detail` and `payload`.
enum class EventKind : std::uint16_t {
  packet_arrives,  ///< at a switch's input or a host
  port_wakes,      ///< a transmitter looks for something to send
  timer,           ///< of an agent: traffic, a node of a job, a fault
  packet_lost,     ///< its host finds out and sends again
  shared_timer,    ///< of an agent that every part of a divided simulation has: faults
  agent_wakes,     ///< an agent looks for something to do
};

/// How soon an event is likely to happen. Each is looked at twice, so that the second look finds in
/// the cache what the first one has fetched.
enum class Ahead : std::uint8_t {
  early,  ///< nothing but the event is in the cache: time to fetch what it names
  late,   ///< time to fetch what these records name
};

/// Plain data of half a cache line. The engine orders events at the same time by source and by the
/// source's own order, never by when they entered the queue, so that dividing the work changes
/// nothing.
struct Event {
  PicoInstant time{};
  // The members have this order so that `place()` loads both as one number.
  std::uint32_t sequence = 0;  ///< number of events that the source caused before
  std::uint32_t source = 0;    ///< vertex or agent that caused it
  std::uint32_t target = 0;    ///< vertex, link or agent that it happens to
  EventKind kind = EventKind::timer;
  std::uint16_t detail = 0;
  std::uint64_t payload = 0;

  /// Its place among the events of its instant.
  std::uint64_t place() const { return std::uint64_t{source} << 32 | sequence; }
};
static_assert(sizeof(Event) == 32);

/// The order in which events happen. It is total, since places are unique.
inline bool operator<(const Event& a, const Event& b) {
  return a.time != b.time ? a.time < b.time : a.place() < b.place();
}

}  // namespace weft::sim
