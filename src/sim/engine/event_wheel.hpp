// SPDX-License-Identifier: Apache-2.0
// EventWheel: events by the slot of time that they are in, unordered within a slot. Slots are of a
// power of two of picoseconds, and as many as a power of two follow each other: so far the wheel
// reaches. A bit for each slot says whether anything is in it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/huge_pages.hpp"
#include "sim/engine/event.hpp"

namespace weft::sim {

class EventWheel {
 public:
  EventWheel(unsigned slot_bits, unsigned count_bits) { reset(slot_bits, count_bits); }

  /// Returns the number of an instant's slot, counted from time 0.
  std::int64_t slot_of(PicoInstant time) const { return time.ticks() >> slot_bits_; }
  std::int64_t slots() const { return static_cast<std::int64_t>(mask_) + 1; }
  unsigned slot_bits() const { return slot_bits_; }
  unsigned count_bits() const { return count_bits_; }
  std::size_t size() const { return size_; }

  /// Less than `slots()` lie between the slots of any two events.
  [[gnu::always_inline]] void push(std::int64_t slot, const Event& event) {
    if (free_ == kNothing) [[unlikely]]
      grow();
    const std::size_t at = index(slot);
    const std::uint32_t node = free_;
    free_ = next_[node];
    // Member by member: assigned as a whole, an event that a caller has in registers would be put
    // together in memory first, and the processor would wait before it can read it there.
    Event& to = events_[node];
    to.time = event.time;
    to.sequence = event.sequence;
    to.source = event.source;
    to.target = event.target;
    to.kind = event.kind;
    to.detail = event.detail;
    to.payload = event.payload;
    next_[node] = heads_[at];
    heads_[at] = node;
    bits_[at / 64] |= std::uint64_t{1} << (at % 64);
    ++size_;
  }

  /// Returns how many slots behind `slot` the next one is that has an event: a whole turn of the
  /// wheel if only `slot` has. Not empty.
  std::int64_t distance_from(std::int64_t slot) const {
    const std::size_t first = index(slot + 1);
    std::size_t word = first / 64;
    std::uint64_t bits = bits_[word] & ~std::uint64_t{0} << (first % 64);
    while (bits == 0) {
      word = (word + 1) & (mask_ / 64);
      bits = bits_[word];
    }
    const std::size_t at = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
    return static_cast<std::int64_t>((at - first) & mask_) + 1;
  }

  /// Fetches the slot's events into the cache.
  [[gnu::always_inline]] void fetch(std::int64_t slot) const {
    for (std::uint32_t node = heads_[index(slot)]; node != kNothing; node = next_[node]) {
      __builtin_prefetch(&events_[node]);
    }
  }
  /// Calls `see(event)` for every event of the slot, and takes them out. The slot is not empty.
  template <class See>
  void take(std::int64_t slot, See see) {
    const std::size_t at = index(slot);
    const std::uint32_t first = heads_[at];
    heads_[at] = kNothing;
    bits_[at / 64] &= ~(std::uint64_t{1} << (at % 64));
    std::uint32_t last = first;
    std::size_t count = 0;
    for (std::uint32_t node = first; node != kNothing; node = next_[node]) {
      see(events_[node]);
      ++count;
      last = node;
    }
    size_ -= count;
    next_[last] = free_;
    free_ = first;
  }
  /// Calls `see(event)` for all events; then it is empty, and its slots are others.
  template <class See>
  void reset(unsigned slot_bits, unsigned count_bits, See see) {
    for (std::size_t at = 0; at < heads_.size() && size_ > 0; ++at) {
      if (heads_[at] != kNothing) take(static_cast<std::int64_t>(at), see);
    }
    reset(slot_bits, count_bits);
  }

 private:
  static constexpr std::uint32_t kNothing = 0xffff'ffff;

  /// Makes a place for one more event. Apart, and without the event's address, so that `push` can
  /// be inline and the event be in registers.
  [[gnu::noinline]] void grow() {
    free_ = static_cast<std::uint32_t>(events_.size());
    events_.emplace_back();
    next_.push_back(kNothing);
  }

  void reset(unsigned slot_bits, unsigned count_bits) {
    slot_bits_ = slot_bits;
    count_bits_ = count_bits;
    heads_.assign(std::size_t{1} << count_bits, kNothing);
    bits_.assign(heads_.size() / 64, 0);
    mask_ = heads_.size() - 1;
  }
  std::size_t index(std::int64_t slot) const { return static_cast<std::size_t>(slot) & mask_; }

  unsigned slot_bits_ = 0;           // of ps in a slot
  unsigned count_bits_ = 0;          // at least 6
  std::size_t mask_ = 0;             // slots less one
  HugeVector<std::uint32_t> heads_;  // by slot
  std::vector<std::uint64_t> bits_;
  HugeVector<Event> events_;
  HugeVector<std::uint32_t> next_;  // by event: in its slot, or of those that are free
  std::uint32_t free_ = kNothing;
  std::size_t size_ = 0;
};

}  // namespace weft::sim
