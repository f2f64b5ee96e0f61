// SPDX-License-Identifier: Apache-2.0
// MicrosliceFeed: a sequence of microslices without time, loops or buffers. FeedSource adds those
// to any feed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "weft/result.hpp"
#include "weft/timeslice.hpp"

namespace weft {

/// The size and start time of the next microslice, known before its content is written.
struct NextMicroslice {
  std::uint64_t size = 0;   ///< content bytes
  std::uint64_t index = 0;  ///< start time, nanoseconds
};

/// Yields microslices in order. One thread at a time. The text of an error names the file.
class MicrosliceFeed {
 public:
  virtual ~MicrosliceFeed() = default;
  /// True when `peek` can answer without waiting. When it is false, call again once `descriptor` is
  /// readable. Feeds that read within `peek` always return true.
  virtual bool is_ready() { return true; }
  /// Returns the file descriptor to poll, which the feed owns; -1 when the feed is always ready.
  virtual int descriptor() const { return -1; }
  /// Describes the next microslice; nothing at the end. Repeated calls return the same microslice
  /// until `take` or `drop`. Errors: the file cannot be read, or its data are damaged.
  virtual Result<std::optional<NextMicroslice>> peek() = 0;
  /// Writes the content of the microslice that `peek` described and advances to the next one.
  /// `content` must have the size that `peek` returned. The caller ignores the offset and size of
  /// the returned descriptor. Errors as `peek`.
  virtual Result<MicrosliceDescriptor> take(std::span<std::byte> content) = 0;
  /// Skips the microslice that `peek` described. Errors as `peek`.
  virtual Result<void> drop() = 0;
  /// Returns to the first microslice. Errors as `peek`. At the end of a pipe it waits for another
  /// writer.
  virtual Result<void> rewind() = 0;
  /// Call it before a `rewind` that shall yield the same microslices again. Error: it is a pipe,
  /// and what was read of it is gone.
  virtual Result<void> can_go_back() const { return {}; }
  /// Makes microslice `n`, counted from 0, the next one. Returns false, without a change, when the
  /// feed can only skip forward by `drop`.
  virtual bool jump(std::uint64_t n) {
    (void)n;
    return false;
  }
};

}  // namespace weft
