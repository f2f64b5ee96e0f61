// SPDX-License-Identifier: Apache-2.0
#include "fabric/shm/ring.hpp"

#include <bit>

#include "base/check.hpp"

namespace weft::shm {
namespace {

std::atomic_ref<std::uint64_t> atomic(std::uint64_t& word) {
  return std::atomic_ref<std::uint64_t>(word);
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
  // Between what it was and what was published, on a line: else the other process is broken.
  valid_ = valid_ && consumed - consumed_ <= position_ - consumed_ && consumed % kLine == 0;
  if (valid_) consumed_ = consumed;
  return valid_;
}

// Looked at once per lap, since looking costs the transfer of a line.
bool Producer::is_to_begin_anew(std::size_t extent) {
  if (offset() < kCompact || extent > kCompact / 4 || ring_.size <= kCompact) return false;
  may_begin_anew_ = false;
  // What is not consumed yet lies behind the place of the new record.
  return refresh() && position_ - consumed_ <= kCompact / 2;
}

bool Producer::make_room(std::size_t extent) {
  const std::size_t to_end = ring_.size - offset();
  const bool wraps = extent > to_end || (may_begin_anew_ && is_to_begin_anew(extent));
  const std::size_t needed = extent + kLine + (wraps ? to_end : 0);
  if (ring_.size - (position_ - consumed_) < needed) {
    if (!refresh() || ring_.size - (position_ - consumed_) < needed) return false;
  }
  if (wraps) {
    word_at(ring_.data).store(0, std::memory_order_relaxed);
    const RecordHead padding{RecordKind::padding, static_cast<std::uint32_t>(to_end - kHeadSize)};
    word_at(ring_.data + offset()).store(encode(padding), std::memory_order_release);
    position_ += to_end;
    may_begin_anew_ = true;
  }
  return true;
}

bool Producer::must_wake() {
  // Publishing and then looking whether the other sleeps; the other says that it sleeps and then
  // looks. With a fence on both sides one of them sees the other.
  full_fence();
  auto sleeps = atomic(ring_.control->sleeps[0]);
  return sleeps.load(std::memory_order_relaxed) != 0 &&
         sleeps.exchange(0, std::memory_order_relaxed) != 0;
}

void Producer::want_space(bool wanted) {
  atomic(ring_.control->wants_space[0]).store(wanted ? 1 : 0, std::memory_order_relaxed);
}

bool Consumer::release() {
  released_ = position_;
  atomic(ring_.control->consumed[0]).store(position_, std::memory_order_release);
  full_fence();
  auto wants_space = atomic(ring_.control->wants_space[0]);
  return wants_space.load(std::memory_order_relaxed) != 0 &&
         wants_space.exchange(0, std::memory_order_relaxed) != 0;
}

void Consumer::set_sleeping(bool sleeping) {
  atomic(ring_.control->sleeps[0]).store(sleeping ? 1 : 0, std::memory_order_relaxed);
}

}  // namespace weft::shm
