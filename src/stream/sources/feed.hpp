// SPDX-License-Identifier: Apache-2.0
// A feed yields microslices one after another and knows nothing of time, loops or buffers: that is
// FeedSource's part, the same for all.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "weft/result.hpp"
#include "weft/timeslice.hpp"

namespace weft {

/// The facts about a microslice before its content is written.
struct NextMicroslice {
  std::uint64_t size = 0;   ///< content bytes
  std::uint64_t index = 0;  ///< start time, nanoseconds
};

/// One thread at a time. Errors name the file.
class MicrosliceFeed {
 public:
  virtual ~MicrosliceFeed() = default;
  /// Whether `peek` knows the answer now. If not, ask again when `descriptor` is readable. Feeds
  /// that do the work in `peek` itself always say yes.
  virtual bool is_ready() { return true; }
  virtual int descriptor() const { return -1; }
  /// The next microslice, or nothing at the end. The same one until `take` or `drop`.
  virtual Result<std::optional<NextMicroslice>> peek() = 0;
  /// Writes the content of the microslice that `peek` described and goes on to the next.
  /// `content` has its size. Offset and size of the descriptor are not looked at.
  virtual Result<MicrosliceDescriptor> take(std::span<std::byte> content) = 0;
  /// Goes on to the next one without the content.
  virtual Result<void> drop() = 0;
  /// Back to the first microslice.
  virtual Result<void> rewind() = 0;
  /// Makes microslice number `n` the next one and returns true; false: only `drop` gets there.
  virtual bool jump(std::uint64_t n) {
    (void)n;
    return false;
  }
};

}  // namespace weft
