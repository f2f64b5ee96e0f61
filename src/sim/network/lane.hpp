// SPDX-License-Identifier: Apache-2.0
// Lane: a transmitter's side of one virtual lane: the packets that wait for it, and the room in the
// buffer behind the link.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/network/pool.hpp"
#include "weft/time.hpp"

namespace weft::sim {

/// For sums of instants, which may wrap.
inline std::uint64_t ticks_of(PicoInstant t) {
  return static_cast<std::uint64_t>(t.ticks());
}

/// Room that the buffer behind a link will give back.
struct CreditReturn {
  PicoInstant at{};
  std::uint32_t bytes = 0;
  std::uint32_t lane = 0;
  std::uint32_t next = kNone;
};

/// Packets from one input that wait for one output and lane, first in, first out.
struct InputQueue {
  std::uint32_t head = kNone;
  std::uint32_t tail = kNone;
  std::uint32_t next = kNone;  ///< in the lane's round of inputs
};

/// Packets that wait for a lane. At a switch the round consists of input queues, at a host of
/// messages that take turns.
struct Round {
  std::uint32_t head = kNone;
  std::uint32_t tail = kNone;
  std::uint32_t queues = kNone;  ///< the first of as many input queues as there are inputs
};

/// The part of the buffer behind a link that the levels of one channel class share: each has its
/// reserve, and takes more from here.
struct Room {
  std::uint32_t shared = 0;            ///< bytes that are free, as far as known
  std::uint32_t returns_head = kNone;  ///< of all lanes of the class, in order of their time
  std::uint32_t returns_tail = kNone;
  bool starved = false;   ///< a lane of the class waits for credits
  std::uint8_t kind = 0;  ///< of the link (CableKind)

  /// Bytes that a lane has of the shared room when it has `used` in all.
  static std::uint32_t beyond(std::uint32_t used, std::uint32_t reserve) {
    return used > reserve ? used - reserve : 0;
  }
  bool fits(std::uint32_t used, std::uint32_t bytes, std::uint32_t reserve) const {
    return beyond(used + bytes, reserve) - beyond(used, reserve) <= shared;
  }
  void take(std::uint32_t& used, std::uint32_t bytes, std::uint32_t reserve) {
    shared -= beyond(used + bytes, reserve) - beyond(used, reserve);
    used += bytes;
  }
  void give_back(std::uint32_t& used, std::uint32_t bytes, std::uint32_t reserve) {
    shared += beyond(used, reserve) - beyond(used - bytes, reserve);
    used -= bytes;
  }
};

/// A service level at one transmitter.
struct LevelState {
  std::int32_t allowance = 0;  ///< bytes that it may still send in its turn
  std::uint32_t queued = 0;    ///< bytes that wait; of switches only
  std::uint64_t packets = 0;   ///< sent
  std::uint64_t bytes = 0;     ///< sent, headers included
  /// Instants at which packets went on, less those since when they waited, in ps and modulo 2^64:
  /// of switches also of packets that wait still, which have only begun.
  std::uint64_t waited = 0;
};

/// A cache line. `level` counts in the lane of the level's first class, `room` in the one of the
/// class's first level.
struct alignas(64) Lane {
  Round round;
  std::uint32_t used = 0;  ///< bytes of the buffer behind the link, as far as known
  LevelState level;
  Room room;
};
static_assert(sizeof(Lane) == 64);

}  // namespace weft::sim
