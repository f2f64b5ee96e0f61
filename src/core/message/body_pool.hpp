// SPDX-License-Identifier: Apache-2.0
// BodyPool: memory for the contents of messages, within a bound.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "weft/ids.hpp"

namespace weft::message {

/// The memory of large bodies: of the process, or a file that is mapped.
class BodyMemory {
 public:
  virtual ~BodyMemory() = default;
  /// Null when there is no room.
  virtual std::byte* allocate(std::size_t bytes) = 0;
  virtual void free(std::byte* memory, std::size_t bytes) = 0;
  /// In pieces of how many bytes it is to be asked for memory of small bodies. 0: it is not for
  /// them, and they lie on the heap.
  virtual std::size_t piece() const { return 0; }
};

class BodyPool;

/// Owns a message's bytes; gives them back to its pool, which outlives it. Move-only.
class Body {
 public:
  Body() = default;
  ~Body() { reset(); }
  Body(Body&& other) noexcept { *this = std::move(other); }
  Body& operator=(Body&& other) noexcept {
    std::swap(pool_, other.pool_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  std::span<const std::byte> view() const { return bytes_; }
  std::span<std::byte> memory() { return bytes_; }
  bool owns() const { return pool_ != nullptr; }
  void reset();

 private:
  friend class BodyPool;
  BodyPool* pool_ = nullptr;
  std::span<std::byte> bytes_;
};

/// Small bodies come from lists of blocks by power of two, larger ones straight from the memory
/// below, which may give pieces for the blocks, too. One thread.
class BodyPool {
 public:
  static constexpr std::size_t smallest = 64;

  /// `limit`: of all bodies together, as rounded up. `memory` outlives the pool; null: the heap.
  explicit BodyPool(ByteCount limit, BodyMemory* memory = nullptr);
  ~BodyPool();
  BodyPool(const BodyPool&) = delete;
  BodyPool& operator=(const BodyPool&) = delete;

  /// Returns whether there is room for a small body. It gets memory for that if necessary.
  /// Each message that is kept asks: only what is rare is out of line.
  [[gnu::always_inline]] bool has_block(std::size_t bytes) {
    const std::size_t c = class_of(bytes);
    return c < classes && in_use_ + rounded(bytes) <= limit_ &&
           (!free_[c].empty() || add_blocks(c));
  }
  /// A copy of the bytes, which `body` owns; null when that would exceed the limit.
  const std::byte* keep(std::span<const std::byte> bytes, Body& body) {
    return keep({}, bytes, body);
  }
  /// The same of `head` and, behind it, `bytes`.
  const std::byte* keep(std::span<const std::byte> head, std::span<const std::byte> bytes,
                        Body& body);
  /// Memory for `body`, ignoring the limit: for bodies that save more than they take. False: there
  /// is none.
  bool take_beyond_limit(std::size_t bytes, Body& body);
  /// A copy of the bytes in such memory.
  bool keep_beyond_limit(std::span<const std::byte> bytes, Body& body);
  /// Gives memory of blocks that are free back to the system, as far as that is possible.
  void trim();
  ByteCount in_use() const { return ByteCount(in_use_); }
  ByteCount limit() const { return ByteCount(limit_); }

 private:
  friend class Body;
  static constexpr std::size_t classes = 10;  // … 32 KiB
  static constexpr std::size_t blocks_at_once = 16;

  static std::size_t class_of(std::size_t bytes) {
    if (bytes <= smallest) return 0;
    return static_cast<std::size_t>(std::bit_width(bytes - 1) - std::bit_width(smallest - 1));
  }
  static std::size_t rounded(std::size_t bytes) {
    const std::size_t c = class_of(bytes);
    return c < classes ? smallest << c : bytes;
  }
  std::byte* take(std::size_t bytes);
  [[gnu::noinline, gnu::cold]] bool add_blocks(std::size_t c);
  void give_back(std::span<std::byte> bytes);

  std::uint64_t limit_;
  std::uint64_t in_use_ = 0;
  BodyMemory* memory_;
  std::unique_ptr<BodyMemory> heap_;
  std::array<std::vector<std::byte*>, classes> free_;
  std::vector<std::unique_ptr<std::byte[]>> slabs_;  // on the heap
  std::vector<std::span<std::byte>> pieces_;         // of the memory below
};

}  // namespace weft::message
