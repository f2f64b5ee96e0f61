// SPDX-License-Identifier: Apache-2.0
// BufferPool: recycled memory for messages that wait for their turn on a link.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace weft::shaped {

/// Memory for one message; frees itself when it is not given back.
struct Buffer {
  std::unique_ptr<std::byte[]> memory;
  std::size_t capacity = 0;

  std::byte* data() const { return memory.get(); }
  explicit operator bool() const { return memory != nullptr; }
};

/// Hands out buffers whose capacities are powers of two and keeps those given back. Buffers handed
/// out and kept stay within a limit together; in a steady state nothing is allocated. Not
/// thread-safe.
class BufferPool {
 public:
  /// `limit` in bytes, at least room for one buffer of the `largest` size asked for.
  BufferPool(std::size_t limit, std::size_t largest);

  /// An empty Buffer when the limit is reached. Sizes above `largest` abort.
  Buffer take(std::size_t size);
  void give_back(Buffer buffer);
  /// Returns how many `take(largest)` are sure to succeed now.
  std::size_t room() const { return (limit_ - in_use_) / capacity_for(largest_); }

 private:
  static constexpr std::size_t kSmallest = 64;
  static std::size_t capacity_for(std::size_t size);
  void drop_kept(std::size_t needed);

  std::size_t limit_;
  std::size_t largest_;
  std::size_t in_use_ = 0;
  std::size_t kept_ = 0;
  std::array<std::vector<Buffer>, 64> free_;  // by log2 of the capacity
};

}  // namespace weft::shaped
