// SPDX-License-Identifier: Apache-2.0
#include "fabric/shaped/buffer_pool.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace weft::shaped {

BufferPool::BufferPool(std::size_t limit, std::size_t largest)
    : limit_(std::max(limit, capacity_for(largest))), largest_(largest) {}

std::size_t BufferPool::capacity_for(std::size_t size) {
  return std::bit_ceil(std::max(size, kSmallest));
}

Buffer BufferPool::take(std::size_t size) {
  WEFT_CHECK(size <= largest_, "{} bytes of at most {}", size, largest_);
  const std::size_t capacity = capacity_for(size);
  if (capacity > limit_ - in_use_) return {};
  auto& free = free_[static_cast<std::size_t>(std::countr_zero(capacity))];
  in_use_ += capacity;
  if (!free.empty()) {
    Buffer buffer = std::move(free.back());
    free.pop_back();
    kept_ -= capacity;
    return buffer;
  }
  if (kept_ > limit_ - in_use_) drop_kept(kept_ - (limit_ - in_use_));
  return {std::make_unique_for_overwrite<std::byte[]>(capacity), capacity};
}

void BufferPool::give_back(Buffer buffer) {
  if (!buffer) return;
  const std::size_t capacity = buffer.capacity;
  in_use_ -= capacity;
  kept_ += capacity;
  free_[static_cast<std::size_t>(std::countr_zero(capacity))].push_back(std::move(buffer));
}

// Frees at least `needed` bytes of buffers given back, the largest first.
void BufferPool::drop_kept(std::size_t needed) {
  for (auto free = free_.rbegin(); free != free_.rend(); ++free) {
    while (!free->empty()) {
      if (needed == 0) return;
      const std::size_t capacity = free->back().capacity;
      free->pop_back();
      kept_ -= capacity;
      needed -= std::min(needed, capacity);
    }
  }
}

}  // namespace weft::shaped
