// SPDX-License-Identifier: Apache-2.0
#include "process/large_blocks.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "base/check.hpp"

namespace weft {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;
/// The alignment of blocks, for the fastest copies.
constexpr std::size_t alignment = 64;

std::size_t rounded(std::size_t bytes, std::size_t to) {
  return (bytes + to - 1) / to * to;
}

/// Aligned to huge pages. Null: there is none.
std::byte* map_aligned(std::size_t size) {
  void* const mapped = ::mmap(nullptr, size + huge_page, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  const auto begin = reinterpret_cast<std::uintptr_t>(mapped);
  const std::size_t before = rounded(begin, huge_page) - begin;
  auto* const aligned = static_cast<std::byte*>(mapped) + before;
  if (before > 0) ::munmap(mapped, before);
  if (before < huge_page) ::munmap(aligned + size, huge_page - before);
  (void)::madvise(aligned, size, MADV_HUGEPAGE);
  return aligned;
}

}  // namespace

LargeBlocks::~LargeBlocks() {
  for (const auto& [begin, chunk] : chunks_) ::munmap(begin, chunk.size);
}

bool LargeBlocks::add(std::size_t bytes) {
  const std::size_t size = std::max(chunk, rounded(bytes, huge_page));
  std::byte* const begin = map_aligned(size);
  if (begin == nullptr) return false;
  reserved_ += size;
  latest_ = chunks_.emplace(begin, Chunk{.size = size}).first;
  return true;
}

std::byte* LargeBlocks::allocate(std::size_t bytes) {
  const std::size_t needed = rounded(std::max<std::size_t>(bytes, 1), alignment);
  const bool fits =
      latest_ != chunks_.end() && latest_->second.used + needed <= latest_->second.size;
  if (!fits && !add(needed)) return nullptr;
  auto& [begin, from] = *latest_;
  std::byte* const block = begin + from.used;
  from.used += needed;
  ++from.blocks;
  return block;
}

bool LargeBlocks::free(std::byte* block) {
  auto found = chunks_.upper_bound(block);
  if (found == chunks_.begin()) return false;
  found = std::prev(found);
  auto& [begin, of] = *found;
  if (block >= begin + of.size) return false;
  WEFT_CHECK(of.blocks > 0);
  if (--of.blocks > 0) return true;
  if (found == latest_) {
    of.used = 0;  // its pages are there for the next blocks
    return true;
  }
  ::munmap(begin, of.size);
  reserved_ -= of.size;
  chunks_.erase(found);
  return true;
}

}  // namespace weft
