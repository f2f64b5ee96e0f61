// SPDX-License-Identifier: Apache-2.0
#include "fabric/shm/ring.hpp"

#include <bit>

namespace weft::shm {
namespace {

std::atomic_ref<std::uint64_t> atomic(std::uint64_t& word) {
  return std::atomic_ref<std::uint64_t>(word);
}

// True when it was said before and still holds.
bool says_wish(std::uint64_t& word) {
  auto wish = atomic(word);
  if (wish.load(std::memory_order_relaxed) != 0) return true;
  wish.store(1, std::memory_order_relaxed);
  return false;
}

}  // namespace

RingMemory RingMemory::at(std::span<std::byte> memory) {
  WEFT_CHECK(memory.size() > kRingOffset);
  const std::size_t size = memory.size() - kRingOffset;
  WEFT_CHECK(std::has_single_bit(size) && size >= 4 * kLine, "a ring of {} bytes", size);
  return {reinterpret_cast<RingControl*>(memory.data()), memory.data() + kRingOffset, size};
}

bool Producer::refresh() {
  const std::uint64_t consumed = atomic(ring_.control->consumed[0]).load(std::memory_order_acquire);
  // The position lies between the last one and the published one, where a record may begin: else
  // the other process is broken.
  valid_ = valid_ && consumed - consumed_ <= position_ - consumed_ && consumed % kHalfLine == 0;
  if (valid_) consumed_ = consumed;
  return valid_;
}

// Looked at once per lap, since looking costs the transfer of a line.
bool Producer::is_to_begin_anew(std::size_t extent) {
  if (offset() < kCompact || extent > kCompact / 4 || ring_.size <= kCompact) return false;
  may_begin_anew_ = false;
  // Records not consumed yet lie behind the place of the new record.
  return refresh() && position_ - consumed_ <= kCompact / 2;
}

// For the reserved record.
bool Producer::make_room() {
  const std::size_t to_end = ring_.size - offset();
  const bool wraps =
      reserved_extent_ > to_end || (may_begin_anew_ && is_to_begin_anew(reserved_extent_));
  if (wraps) reserved_extent_ = record_extent(0, reserved_);
  const std::size_t needed = reserved_extent_ + kLine + (wraps ? to_end : 0);
  if (ring_.size - (position_ - consumed_) < needed) {
    if (!refresh() || ring_.size - (position_ - consumed_) < needed) return false;
  }
  if (wraps) {
    word_at(ring_.data).store(0, std::memory_order_relaxed);
    const RecordHead padding{.size = static_cast<std::uint32_t>(to_end - kHeadSize)};
    word_at(ring_.data + offset()).store(encode(padding), std::memory_order_release);
    position_ += to_end;
    may_begin_anew_ = true;
  }
  return true;
}

bool Producer::say_space_wanted() {
  return says_wish(ring_.control->wants_space[0]);
}

void Producer::take_back_space_wanted() {
  atomic(ring_.control->wants_space[0]).store(0, std::memory_order_relaxed);
}

bool Consumer::release() {
  released_ = position_;
  atomic(ring_.control->consumed[0]).store(position_, std::memory_order_release);
  return takes_wish(ring_.control->wants_space[0]);
}

bool Consumer::say_sleeping() {
  return says_wish(ring_.control->sleeps[0]);
}

void Consumer::take_back_sleeping() {
  atomic(ring_.control->sleeps[0]).store(0, std::memory_order_relaxed);
}

}  // namespace weft::shm
