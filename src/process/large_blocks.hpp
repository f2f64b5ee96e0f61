// SPDX-License-Identifier: Apache-2.0
// LargeBlocks: memory for many large blocks that mostly live for long and are given back in the
// order in which they were taken, as messages are that are kept.
#pragma once

#include <cstddef>
#include <map>

namespace weft {

/// Blocks lie one behind the other in chunks of huge pages, where the system has them: for each
/// block in a mapping of its own the kernel spends longer on pages than a copy of it takes. A chunk
/// goes back to the system with its last block. One thread.
class LargeBlocks {
 public:
  static constexpr std::size_t chunk = std::size_t{32} << 20;

  LargeBlocks() = default;
  LargeBlocks(const LargeBlocks&) = delete;
  LargeBlocks& operator=(const LargeBlocks&) = delete;
  ~LargeBlocks();

  /// Null: the system has no memory.
  std::byte* allocate(std::size_t bytes);
  /// False: the block is not from here.
  bool free(std::byte* block);
  /// Taken from the system.
  std::size_t reserved() const { return reserved_; }

 private:
  struct Chunk {
    std::size_t size = 0;
    std::size_t used = 0;  // bytes, from its beginning
    std::size_t blocks = 0;
  };
  using Chunks = std::map<std::byte*, Chunk>;  // by their beginnings

  bool add(std::size_t bytes);

  Chunks chunks_;
  Chunks::iterator latest_ = chunks_.end();  // from which blocks are taken
  std::size_t reserved_ = 0;
};

}  // namespace weft
