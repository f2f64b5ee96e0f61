// SPDX-License-Identifier: Apache-2.0
#include "fabric/shm/ring.hpp"

#include <bit>

#include "base/check.hpp"

namespace weft::shm {
namespace {

constexpr std::size_t kCompact = 8 * 1024;

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

// Small records whose consumer keeps up stay at the ring's beginning: in the caches, and on few
// pages. Looked at once per lap, since looking costs the transfer of a line.
bool Producer::is_to_begin_anew(std::size_t extent) {
  if (offset() < kCompact || extent > kCompact / 4 || ring_.size <= kCompact) return false;
  may_begin_anew_ = false;
  // What is not consumed yet lies behind the place of the new record.
  return refresh() && position_ - consumed_ <= kCompact / 2;
}

std::byte* Producer::reserve(std::size_t size) {
  WEFT_CHECK(size <= largest_payload(ring_.size), "a record of {} bytes", size);
  const std::size_t extent = record_extent(size);
  const std::size_t to_end = ring_.size - offset();
  const bool wraps = extent > to_end || (may_begin_anew_ && is_to_begin_anew(extent));
  // One line more, for the zero where the next head will be.
  const std::size_t needed = extent + kLine + (wraps ? to_end : 0);
  if (ring_.size - (position_ - consumed_) < needed) {
    if (!refresh() || ring_.size - (position_ - consumed_) < needed) return nullptr;
  }
  if (wraps) {
    word_at(ring_.data).store(0, std::memory_order_relaxed);
    const RecordHead padding{RecordKind::padding, static_cast<std::uint32_t>(to_end - kHeadSize)};
    word_at(ring_.data + offset()).store(encode(padding), std::memory_order_release);
    position_ += to_end;
    may_begin_anew_ = true;
  }
  // Now and not when publishing: getting hold of that line takes time, and must not separate the
  // payload from its head.
  word_at(ring_.data + ((position_ + extent) & (ring_.size - 1)))
      .store(0, std::memory_order_relaxed);
  reserved_ = static_cast<std::uint32_t>(size);
  return ring_.data + offset() + kHeadSize;
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

Consumer::Look Consumer::look(Record& record) {
  for (;;) {
    std::byte* const place = ring_.data + offset();
    const std::uint64_t word = word_at(place).load(std::memory_order_acquire);
    if (word == 0) return Look::nothing;
    const auto head = decode(word);
    if (!head) return Look::bad;
    const std::size_t to_end = ring_.size - offset();
    if (head->size > to_end - kHeadSize) return Look::bad;
    extent_ = record_extent(head->size);
    if (head->kind != RecordKind::padding) {
      if (head->size > largest_payload(ring_.size)) return Look::bad;
      record = {head->kind, {place + kHeadSize, head->size}};
      return Look::record;
    }
    // Only up to the end and never all of it: padding alone does not go round for ever.
    if (extent_ != to_end || offset() == 0) return Look::bad;
    position_ += extent_;
  }
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
