// SPDX-License-Identifier: Apache-2.0
// EventQueue: the next few events are in a sorted array, those that happen soon in a wheel of
// slots, later ones in a heap. Nearly every event of a busy network goes into a slot and from
// there, with the one or two others of its slot, into the array, which costs the same however many
// events there are. The width of the slots and their number adapt to the events.
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
    if (++first_ == end_) refill();
    return first;
  }

  /// Counts how often the events that are about to happen became others, for callers that fetch
  /// ahead.
  std::uint64_t refills() const { return refills_; }
  /// Calls `see(event)` for the events that are about to happen.
  template <class See>
  void look_near(See see) const {
    for (std::size_t i = first_; i < end_; ++i) see(near_[i]);
  }
  /// Calls `see(event)` for those that are likely to come behind them.
  template <class See>
  void look_beyond(See see) const {
    if (beyond_ != kNoSlot) wheel_.look(beyond_, see);
  }
  /// Fetches into the cache what is likely to come behind those.
  void fetch_later() const {
    if (beyond_ != kNoSlot) wheel_.fetch(beyond_ + wheel_.distance_from(beyond_));
  }

 private:
  static constexpr std::size_t kMostNear = 32;
  static constexpr std::size_t kLeastCrowd = 64;
  static constexpr std::uint64_t kLeastRefills = 1024;
  static constexpr std::int64_t kNoSlot = std::numeric_limits<std::int64_t>::max();

  [[gnu::noinline]] void push_elsewhere(PicoInstant time, std::uint64_t place, std::uint32_t target,
                                        EventKind kind, std::uint16_t detail,
                                        std::uint64_t payload);
  void push_near(const Event& event);
  void push_far(const Event& event);
  [[gnu::noinline]] void refill();
  void sort_near();
  void take_far(std::int64_t slot);
  void spread_near();
  void adapt();
  void rebuild(unsigned slot_bits, unsigned count_bits);

  // Ascending from first_ to end_, and before all others; not empty if anything is.
  alignas(64) std::array<Event, kMostNear> near_;
  std::size_t first_ = 0;
  std::size_t end_ = 0;
  std::int64_t slot_ = kNoSlot;    // of the last refill; kNoSlot if the queue is empty
  std::int64_t beyond_ = kNoSlot;  // the first slot of the wheel that has events
  EventWheel wheel_{10, 10};
  EventHeap far_;  // beyond the wheel when they were pushed, or in slot_ or before
  std::int64_t far_slot_ = kNoSlot;  // of the first event in far_
  std::size_t crowd_ = 0;            // events that went to far_ since the refill for lack of room
  std::size_t most_crowd_ = kLeastCrowd;  // so many are worth a look whether they are near
  std::uint64_t refills_ = 0;
  // Between looks at how wide slots should be:
  std::uint64_t period_ = kLeastRefills;  // in refills
  std::uint64_t left_ = kLeastRefills;    // refills until the next look
  std::uint64_t seen_slots_ = 0;
  std::uint64_t seen_events_ = 0;
  std::uint64_t seen_far_ = 0;  // of these
};

}  // namespace weft::sim
