// SPDX-License-Identifier: Apache-2.0
// Shared memory for copies: for consumers that must never hold the original up (policy skip), and
// for timeslices in memory that other processes cannot map.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string_view>

#include "runtime/memory/mirrored_ring.hpp"
#include "weft/ids.hpp"
#include "weft/result.hpp"

namespace weft::shm {

/// Hands out contiguous blocks in ring order; blocks may be freed in any order, room is made in
/// ring order. One thread at a time.
class CopyRing {
 public:
  /// Room for `size`, rounded up to a size that a ring can have.
  static Result<CopyRing> create(ByteCount size, std::string_view name);

  /// Start of a new block of `size` bytes (a cache line's alignment), or nothing while there is no
  /// room. A size larger than `capacity` never fits.
  std::optional<std::uint64_t> take(std::size_t size);
  /// Frees the block that starts at `position`, exactly once.
  void free(std::uint64_t position);
  std::span<std::byte> at(std::uint64_t position, std::size_t size) const {
    return ring_.at(position, size);
  }
  ByteCount capacity() const { return ring_.size(); }
  int descriptor() const { return ring_.descriptor(); }
  bool empty() const { return blocks_.empty(); }

 private:
  struct Block {
    std::uint64_t position = 0;
    bool freed = false;
  };
  explicit CopyRing(MirroredRing ring) : ring_(std::move(ring)) {}

  MirroredRing ring_;
  std::uint64_t head_ = 0;    // start of the next block
  std::deque<Block> blocks_;  // in ring order, the first one is not free
};

}  // namespace weft::shm
