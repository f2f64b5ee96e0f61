// SPDX-License-Identifier: Apache-2.0
// The contents of a trace, and whether it can be replayed.
#pragma once

#include <cstdint>
#include <string>

namespace weft::trace {

/// Counts of a whole trace, after every event has been looked at.
struct Summary {
  std::uint32_t ranks = 0;
  std::uint64_t events = 0;    ///< of all ranks: computations, messages, waits, collectives, marks
  std::uint64_t messages = 0;  ///< sends between ranks, without those of collectives
  std::uint64_t bytes = 0;     ///< of those messages
  std::uint64_t collectives = 0;  ///< operations, each counted once for its whole group
  /// Sends without their receive, receives without their send, collectives that not all members of
  /// the group took part in, operations of unequal size or kind.
  std::uint64_t unmatched = 0;
  double seconds = 0;        ///< from the first event to the last; of GOAL: the longest computation
  bool is_measured = false;  ///< `seconds` is how long a real run took
  /// The first mismatch: its rank, the event, the error, and how many more there are. Empty: none.
  std::string problem;
};

}  // namespace weft::trace
