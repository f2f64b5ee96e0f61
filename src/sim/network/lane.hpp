// SPDX-License-Identifier: Apache-2.0
// Lane: a transmitter's side of one virtual lane: what waits for it and how much room there is in
// the buffer behind the link.
#pragma once

#include <cstdint>

#include "sim/network/pool.hpp"
#include "weft/time.hpp"

namespace weft::sim {

/// Room that the buffer behind a link will give back.
struct CreditReturn {
  PicoInstant at{};
  std::uint32_t bytes = 0;
  std::uint32_t next = kNone;
};

/// Packets from one input that wait for one output and lane, first in, first out.
struct InputQueue {
  std::uint32_t head = kNone;
  std::uint32_t tail = kNone;
  std::uint32_t next = kNone;  ///< in the lane's round of inputs
};

/// At a switch the round consists of input queues, at a host of messages that take turns.
struct Lane {
  std::int64_t credits = 0;  ///< free bytes of the buffer, as far as known
  std::uint32_t round_head = kNone;
  std::uint32_t round_tail = kNone;
  std::uint32_t returns_head = kNone;  ///< in order of their time
  std::uint32_t returns_tail = kNone;
  std::int32_t allowance = 0;  ///< bytes that the lane may still send in its turn
  bool starved = false;        ///< waits for credits
};

}  // namespace weft::sim
