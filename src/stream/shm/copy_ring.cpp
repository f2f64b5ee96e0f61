// SPDX-License-Identifier: Apache-2.0
#include "stream/shm/copy_ring.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace weft::shm {

Result<CopyRing> CopyRing::create(ByteCount size, std::string_view name) {
  auto ring = MirroredRing::create(ring_size_for(size), name);
  if (!ring) return std::move(ring).error();
  return CopyRing(std::move(*ring));
}

std::optional<std::uint64_t> CopyRing::take(std::size_t size) {
  constexpr std::size_t cache_line = 64;
  const std::uint64_t capacity = ring_.size().value();
  const std::uint64_t used = blocks_.empty() ? 0 : head_ - blocks_.front().position;
  // A block of nothing still takes a line, so that positions tell blocks apart.
  const std::uint64_t rounded =
      (std::max<std::size_t>(size, 1) + cache_line - 1) & ~(cache_line - 1);
  if (size > capacity || rounded > capacity - used) return std::nullopt;
  const std::uint64_t position = head_;
  blocks_.push_back({position, false});
  head_ += rounded;
  return position;
}

void CopyRing::free(std::uint64_t position) {
  const auto block =
      std::lower_bound(blocks_.begin(), blocks_.end(), position,
                       [](const Block& b, std::uint64_t p) { return b.position < p; });
  WEFT_CHECK(block != blocks_.end() && block->position == position && !block->freed);
  block->freed = true;
  while (!blocks_.empty() && blocks_.front().freed) blocks_.pop_front();
  if (blocks_.empty()) head_ = 0;  // the same pages again: fewer are populated, more are cached
}

}  // namespace weft::shm
