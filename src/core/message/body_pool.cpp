// SPDX-License-Identifier: Apache-2.0
#include "core/message/body_pool.hpp"

#include <algorithm>
#include <new>

#include "base/copy.hpp"

namespace weft::message {
namespace {

class Heap final : public BodyMemory {
 public:
  std::byte* allocate(std::size_t bytes) override {
    return static_cast<std::byte*>(::operator new(bytes, std::nothrow));
  }
  void free(std::byte* memory, std::size_t) override { ::operator delete(memory); }
};

}  // namespace

void Body::reset() {
  if (pool_ != nullptr) std::exchange(pool_, nullptr)->give_back(std::exchange(bytes_, {}));
}

BodyPool::BodyPool(ByteCount limit, BodyMemory* memory) : limit_(limit.value()), memory_(memory) {
  if (memory_ == nullptr) {
    heap_ = std::make_unique<Heap>();
    memory_ = heap_.get();
  }
}

BodyPool::~BodyPool() {
  for (const auto& piece : pieces_) memory_->free(piece.data(), piece.size());
}

const std::byte* BodyPool::keep(std::span<const std::byte> head, std::span<const std::byte> bytes,
                                Body& body) {
  body.reset();
  const std::size_t size = head.size() + bytes.size();
  if (in_use_ + rounded(size) > limit_) return nullptr;
  std::byte* memory = take(size);
  if (memory == nullptr) return nullptr;
  in_use_ += rounded(size);
  copy_bytes(memory, head.data(), head.size());
  copy_bytes(memory + head.size(), bytes.data(), bytes.size());
  body.pool_ = this;
  body.bytes_ = {memory, size};
  return memory;
}

bool BodyPool::take_beyond_limit(std::size_t bytes, Body& body) {
  body.reset();
  std::byte* memory = take(bytes);
  if (memory == nullptr) return false;
  in_use_ += rounded(bytes);
  body.pool_ = this;
  body.bytes_ = {memory, bytes};
  return true;
}

bool BodyPool::keep_beyond_limit(std::span<const std::byte> bytes, Body& body) {
  if (!take_beyond_limit(bytes.size(), body)) return false;
  copy_bytes(body.bytes_.data(), bytes.data(), bytes.size());
  return true;
}

std::byte* BodyPool::take(std::size_t bytes) {
  const std::size_t c = class_of(bytes);
  if (c >= classes) return memory_->allocate(bytes);
  if (free_[c].empty() && !add_blocks(c)) return nullptr;
  std::byte* memory = free_[c].back();
  free_[c].pop_back();
  return memory;
}

bool BodyPool::add_blocks(std::size_t c) {
  const std::size_t block = smallest << c, piece = memory_->piece();
  const std::size_t blocks =
      std::max<std::size_t>(1, piece > 0 ? piece / block : blocks_at_once >> c);
  std::byte* begin = nullptr;
  if (piece > 0) {
    begin = memory_->allocate(block * blocks);
    if (begin != nullptr) pieces_.emplace_back(begin, block * blocks);
  } else {
    std::unique_ptr<std::byte[]> slab(new (std::nothrow) std::byte[block * blocks]);
    begin = slab.get();
    if (begin != nullptr) slabs_.push_back(std::move(slab));
  }
  if (begin == nullptr) return false;
  for (std::size_t i = 0; i < blocks; ++i) free_[c].push_back(begin + i * block);
  return true;
}

// Blocks of larger classes have a slab each.
void BodyPool::trim() {
  // Blocks of one piece are hardly ever free together, and the memory below is mostly a file.
  if (!pieces_.empty()) return;
  std::vector<const std::byte*> free;
  for (std::size_t c = 0; c < classes; ++c) {
    if ((blocks_at_once >> c) > 1) continue;
    free.insert(free.end(), free_[c].begin(), free_[c].end());
    free_[c] = {};
  }
  std::sort(free.begin(), free.end());
  std::erase_if(slabs_, [&](const auto& slab) {
    return std::binary_search(free.begin(), free.end(), static_cast<const std::byte*>(slab.get()));
  });
}

void BodyPool::give_back(std::span<std::byte> bytes) {
  in_use_ -= rounded(bytes.size());
  const std::size_t c = class_of(bytes.size());
  if (c < classes) {
    free_[c].push_back(bytes.data());
  } else {
    memory_->free(bytes.data(), bytes.size());
  }
}

}  // namespace weft::message
