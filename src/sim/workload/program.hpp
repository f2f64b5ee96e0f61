// SPDX-License-Identifier: Apache-2.0
// The program of a workload's ranks: compute, send, receive, wait, one action after the other. A
// program holds no state of a rank, so that thousands of ranks share one.
#pragma once

#include <cstdint>

#include "weft/time.hpp"

namespace weft::sim {

struct Action {
  enum class Kind : std::uint8_t {
    compute,        ///< for `time`
    send,           ///< `bytes` to `peer`, not waited for
    receive,        ///< `bytes` from `peer`, not waited for
    wait_all,       ///< until all that this rank started has completed
    wait_for,       ///< until the send or receive `request` has completed
    wait_any,       ///< until one of those that are open completes
    mark_progress,  ///< an iteration is done (paper 5, Fig. 2)
    end,            ///< of the program
  };
  Kind kind = Kind::end;
  std::uint32_t peer = 0;
  /// Names a message between two ranks: the receive of it says the same. No two messages that are
  /// under way from one rank to another have the same; below 2^62.
  std::uint64_t match = 0;
  std::uint64_t bytes = 0;
  PicoDuration time{};
  /// Names a send or receive that the program waits for by number; unique among the rank's open
  /// operations.
  std::uint32_t request = 0;
};

/// The size of a receive that takes its message as long as it is.
inline constexpr std::uint64_t any_bytes = ~std::uint64_t{0};

/// A rank's position in its program.
struct Cursor {
  std::uint64_t iteration = 0;
  std::uint32_t step = 0;  ///< of the iteration
};

class Program {
 public:
  virtual ~Program() = default;
  virtual std::uint32_t ranks() const = 0;
  /// The rank's action at the cursor, which moves to the next one. Depends on nothing else.
  virtual Action next(std::uint32_t rank, Cursor& cursor) const = 0;
};

/// Actions from something with a state of its own, such as a trace that is read as it is replayed.
class Feed {
 public:
  virtual ~Feed() = default;
  virtual std::uint32_t ranks() const = 0;
  /// The rank's next action; not called again after `end`.
  virtual Action next(std::uint32_t rank) = 0;
  /// A send or receive of the rank has completed; within `next`'s actions or later.
  virtual void on_completed(std::uint32_t rank, std::uint32_t request) = 0;
  /// The rank only computes to pass the time until other ranks have gone on.
  virtual bool waits_for_others(std::uint32_t /*rank*/) const { return false; }
};

}  // namespace weft::sim
