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

/// Room that the buffer behind a link will give back, behind the earliest one of its class.
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
  std::uint32_t head = kNone;    ///< the next packet at a switch, the next message at a host
  std::uint32_t tail = kNone;    ///< the last queue, the last message
  std::uint32_t queues = kNone;  ///< switches: the first of as many queues as there are inputs
};

/// The part of the buffer behind a link that the levels of one channel class share: each has its
/// reserve, and takes more from here.
///
/// The earliest return lies here, others in a list: most of the time there is one at most, and
/// nothing but this record is read and written when room comes back.
struct Room {
  PicoInstant next_at{};              ///< when the earliest return comes
  std::uint32_t shared = 0;           ///< bytes that are free, as far as known
  std::uint32_t last_return = kNone;  ///< of the others of all lanes, a ring in order of time
  std::uint32_t next_bytes : 22 = 0;  ///< of the earliest return; 0: nothing comes back
  std::uint32_t next_lane : 6 = 0;    ///< whose it is
  std::uint32_t starved : 1 = 0;      ///< a lane of the class waits for credits
  std::uint32_t kind : 2 = 0;         ///< of the link (CableKind)

  bool has_return() const { return next_bytes != 0; }
  /// Bytes of the shared room that a lane takes for `bytes` more when it has `used` in all.
  static std::uint32_t of_shared(std::uint32_t used, std::uint32_t bytes, std::uint32_t reserve) {
    return std::max(used + bytes, reserve) - std::max(used, reserve);
  }
  bool fits(std::uint32_t used, std::uint32_t bytes, std::uint32_t reserve) const {
    return of_shared(used, bytes, reserve) <= shared;
  }
  void give_back(std::uint32_t& used, std::uint32_t bytes, std::uint32_t reserve) {
    used -= bytes;
    shared += of_shared(used, bytes, reserve);
  }
};

/// A service level at one transmitter.
struct LevelState {
  std::int32_t allowance = 0;  ///< bytes that it may still send in its turn
  std::uint32_t queued = 0;    ///< bytes that wait; of switches only
  std::uint64_t bytes = 0;     ///< sent, headers included
  /// Instants at which packets went on, less those since when they waited, in ps and modulo 2^64:
  /// of switches also of packets that wait still, which have only begun.
  std::uint64_t waited = 0;
};

/// A cache line. `level` and `packets` count in the lane of the level's first class, `room` in the
/// one of the class's first level.
struct alignas(64) Lane {
  Round round;
  std::uint32_t used = 0;  ///< bytes of the buffer behind the link, as far as known
  LevelState level;
  [[no_unique_address]] Room room;  // what follows lies in its padding
  std::uint32_t packets = 0;        ///< sent by the level, modulo 2^32
};
static_assert(sizeof(Lane) == 64);

}  // namespace weft::sim
