// SPDX-License-Identifier: Apache-2.0
// Lane: a transmitter's side of one virtual lane: the packets that wait for it, and the room in the
// buffer behind the link.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/network/pool.hpp"
#include "weft/time.hpp"

namespace weft::sim {

/// Returns the instant as a number, for sums of instants, which may wrap.
inline std::uint64_t ticks_of(PicoInstant t) {
  return static_cast<std::uint64_t>(t.ticks());
}

/// Room that the buffer behind a link will give back, later than the earliest return of its class,
/// which `Room` has.
struct CreditReturn {
  PicoInstant at{};
  std::uint32_t bytes = 0;
  std::uint32_t lane = 0;
  std::uint32_t next = kNone;  ///< in the class's ring
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
/// This record holds the earliest return, a list the others: most of the time there is one at most,
/// and room that comes back costs access to nothing but this record.
struct Room {
  PicoInstant next_at{};              ///< when the earliest return comes
  std::uint32_t shared = 0;           ///< bytes that are free, as far as known
  std::uint32_t last_return = kNone;  ///< the last of the others, a ring in order of time
  std::uint32_t next_bytes : 22 = 0;  ///< of the earliest return; 0: nothing comes back
  std::uint32_t next_lane : 6 = 0;    ///< whose packet it was
  std::uint32_t starved : 1 = 0;      ///< a lane of the class waits for credits
  std::uint32_t kind : 2 = 0;         ///< of the link (CableKind)

  bool has_return() const { return next_bytes != 0; }
  /// Returns the bytes of the shared room that a lane takes for `bytes` more when it has `used` in
  /// all.
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
  std::uint32_t queued = 0;    ///< bytes that wait; at switches only
  std::uint64_t bytes = 0;     ///< sent, headers included
  /// The sum of the instants at which packets went on, less those since when they waited, in ps and
  /// modulo 2^64. At switches packets that still wait have only the second part.
  std::uint64_t waited = 0;
};

/// Fills a cache line. Of a level's lanes the one of the first class holds `level` and `packets`;
/// of a class's lanes the one of the first level holds `room`.
struct alignas(64) Lane {
  Round round;
  std::uint32_t used = 0;  ///< bytes of the buffer behind the link, as far as known
  LevelState level;
  [[no_unique_address]] Room room;  // what follows lies in its padding
  std::uint32_t packets = 0;        ///< sent by the level, modulo 2^32
};
static_assert(sizeof(Lane) == 64);

}  // namespace weft::sim
