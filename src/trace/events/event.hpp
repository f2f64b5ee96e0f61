// SPDX-License-Identifier: Apache-2.0
// The neutral model of a recorded message-passing program: for every rank the sequence of its
// calls, from any recording tool. Times between calls are computation; the calls' own times are not
// part of it, as a replay finds them anew.
#pragma once

#include <cstdint>
#include <span>

#include "core/collective/collective.hpp"
#include "weft/result.hpp"

namespace weft::trace {

struct Event {
  enum class Kind : std::uint8_t {
    compute,        ///< for `compute_ns`
    send,           ///< begins `request`: `bytes` to `peer`
    receive,        ///< begins `request`: `bytes` from `peer`, which is known from its completion
    wait,           ///< until `request` has completed, which then may be used again
    collective,     ///< takes part in an operation of `communicator`
    mark_progress,  ///< an iteration is done
    end,
  };
  Kind kind = Kind::end;
  std::uint32_t peer = 0;  ///< among all ranks, not within the communicator
  std::uint32_t communicator = 0;
  std::int64_t tag = 0;
  std::uint64_t bytes = 0;     ///< of a collective: as in collective::Request
  std::uint64_t received = 0;  ///< of a collective whose sizes vary: all that this rank gets
  std::uint32_t request = 0;   ///< small: numbers are used again
  std::uint64_t compute_ns = 0;
  std::uint64_t at_ns = 0;   ///< when, on a clock that all ranks share more or less
  std::uint64_t number = 0;  ///< of the event in the file, for messages
  collective::Operation operation = collective::Operation::barrier;
  std::uint32_t root = 0;  ///< within the communicator
  bool varies = false;     ///< members' blocks differ; `bytes` is all that this rank sends
};

/// The `peer` of a receive of which no completion was recorded.
inline constexpr std::uint32_t no_peer = ~std::uint32_t{0};

/// A trace, read rank by rank as it is wanted. One thread. Its memory does not grow with the
/// trace's length.
class EventStream {
 public:
  virtual ~EventStream() = default;
  virtual std::uint32_t ranks() const = 0;
  /// The ranks of a communicator in its order; empty: there is none of that number.
  virtual std::span<const std::uint32_t> members(std::uint32_t communicator) const = 0;
  /// The next event of the rank; `end` again and again behind the last. Errors name file, rank and
  /// event: one that cannot be read, is truncated or makes no sense.
  virtual Result<Event> next(std::uint32_t rank) = 0;
};

}  // namespace weft::trace
