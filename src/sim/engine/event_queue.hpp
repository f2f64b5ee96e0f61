// SPDX-License-Identifier: Apache-2.0
// EventQueue: the next few events are in a sorted array, those that happen soon in a wheel of
// slots, later ones in a heap. Nearly every event of a busy network goes into a slot and from
// there, with those of the next slots, into the array, which costs the same however many events
// there are. The width of the slots and their number adapt to the events. When its user asks for no
// events but the first one, the array has those of one slot only, so that few events are put in
// order there.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "sim/engine/event.hpp"
#include "sim/engine/event_heap.hpp"
#include "sim/engine/event_wheel.hpp"

namespace weft::sim {

class EventQueue {
 public:
  bool empty() const { return first_ == end_; }
  std::size_t size() const { return end_ - first_ + wheel_.size() + far_.size(); }
  /// The first event. Not empty.
  const Event& front() const { return near_[first_]; }

  /// Whether `near` will be asked for events behind the first one: it will be, unless told
  /// otherwise. Makes no difference to the order.
  void look_ahead_if(bool looks) { looks_ahead_ = looks; }

  /// Inline, and nothing that it calls takes the event's address: its members go from registers to
  /// the wheel.
  [[gnu::always_inline]] void push(const Event& event) {
    const std::int64_t slot = wheel_.slot_of(event.time);
    if (slot > slot_ && slot - slot_ < wheel_.slots()) [[likely]] {
      wheel_.push(slot, event);
      beyond_ = std::min(beyond_, slot);
      return;
    }
    push_elsewhere(event.time, event.place(), event.target, event.kind, event.detail,
                   event.payload);
  }

  Event pop() {
    const Event first = near_[first_];
    if (++first_ == refill_at_) [[unlikely]]
      refill();
    return first;
  }

  /// The next events in their order, if so many are known, at most `kMostAhead`; else null. A queue
  /// that does not look ahead may know one only.
  const Event* near(std::size_t count) const {
    return first_ + count <= end_ ? &near_[first_] : nullptr;
  }
  static constexpr std::size_t kMostAhead = 12;

 private:
  static constexpr std::size_t kMostNear = 64;
  static constexpr std::size_t kEnoughNear = 28;  // a refill takes whole slots until there are
  static constexpr std::int64_t kMostSlotsNear = 512;
  static constexpr std::size_t kLeastCrowd = 64;
  static constexpr std::uint64_t kLeastPeriod = 4096;
  static constexpr std::int64_t kNoSlot = std::numeric_limits<std::int64_t>::max();

  [[gnu::noinline]] void push_elsewhere(PicoInstant time, std::uint64_t place, std::uint32_t target,
                                        EventKind kind, std::uint16_t detail,
                                        std::uint64_t payload);
  void push_near(const Event& event);
  void push_far(const Event& event);
  [[gnu::noinline]] void refill();
  [[gnu::noinline]] void refill_with_others();
  void compact();
  void take_slots();
  // Else the compiler may drop the call of a function that only prefetches.
  [[gnu::always_inline]] inline void fetch_slots() const;
  void take_slot(std::int64_t slot);
  inline void take_from_wheel(std::int64_t slot, std::size_t from);
  [[gnu::noinline]] void sort_near(std::size_t from);
  [[gnu::noinline]] void take_far(std::int64_t slot, std::size_t from);
  void spread_near(std::size_t from);
  void adapt();
  void rebuild(unsigned slot_bits, unsigned count_bits);

  // Ascending from first_ to end_, and before all others; not empty if anything is.
  alignas(64) std::array<Event, kMostNear> near_;
  std::size_t first_ = 0;
  std::size_t end_ = 0;
  std::size_t refill_at_ = 0;  // when first_ is there; at end_ if the queue does not look ahead
  bool looks_ahead_ = true;
  std::int64_t slot_ = kNoSlot;    // the last one in the array; kNoSlot if the queue is empty
  std::int64_t beyond_ = kNoSlot;  // the first slot of the wheel that has events
  EventWheel wheel_{10, 10};
  EventHeap far_;  // beyond the wheel when they were pushed, or in slot_ or before
  std::int64_t far_slot_ = kNoSlot;  // of the first event in far_
  std::size_t crowd_ = 0;            // events that went to far_ since the refill for lack of room
  std::size_t most_crowd_ = kLeastCrowd;  // so many are worth a look whether they are near
  // Between looks at how wide slots should be:
  std::uint64_t period_ = kLeastPeriod;  // in events
  std::uint64_t seen_slots_ = 0;
  std::uint64_t seen_events_ = 0;
  std::uint64_t seen_far_ = 0;  // of these
};

}  // namespace weft::sim
