// SPDX-License-Identifier: Apache-2.0
// EventQueue: the next events are in a small heap, those that happen soon in a wheel of slots,
// later ones in another heap. Nearly every event of a busy network goes into a slot and from there
// into a heap of one to three, which costs the same however many events there are. The width of the
// slots and their number adapt to the events.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "sim/engine/event.hpp"
#include "sim/engine/event_heap.hpp"
#include "sim/engine/event_wheel.hpp"

namespace weft::sim {

class EventQueue {
 public:
  bool empty() const { return near_.empty(); }
  std::size_t size() const { return near_.size() + wheel_.size() + far_.size(); }
  /// The first event. Not empty.
  const Event& front() const { return near_.front(); }

  void push(const Event& event) {
    const std::int64_t slot = wheel_.slot_of(event.time);
    if (near_.empty()) slot_ = slot;
    if (slot <= slot_) {
      near_.push(event);
      // Most of them are not near: the first ones pushed were late ones.
      if (near_.size() > most_near_) rebuild(wheel_.slot_bits(), wheel_.count_bits());
    } else if (slot - slot_ < wheel_.slots()) {
      wheel_.push(slot, event);
      beyond_ = std::min(beyond_, slot);
    } else {
      far_.push(event);
      far_slot_ = wheel_.slot_of(far_.front().time);
    }
  }

  Event pop() {
    const Event first = near_.pop();
    if (near_.empty()) refill();
    return first;
  }

  /// Counts how often the events that are about to happen became others, for callers that fetch
  /// ahead.
  std::uint64_t refills() const { return refills_; }
  /// Calls `see(event)` for the events that are about to happen.
  template <class See>
  void look_near(See see) const {
    for (const Event& event : near_.events()) see(event);
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
  static constexpr std::size_t kMostNear = 64;
  static constexpr std::uint64_t kLeastRefills = 1024;
  static constexpr std::int64_t kNoSlot = std::numeric_limits<std::int64_t>::max();

  void refill();
  void adapt();
  void rebuild(unsigned slot_bits, unsigned count_bits);

  EventHeap near_;  // in slot_ or before; not empty if anything is
  EventWheel wheel_{10, 10};
  EventHeap far_;  // beyond the wheel when they were pushed
  std::int64_t slot_ = 0;
  std::int64_t beyond_ = kNoSlot;      // the first slot of the wheel that has events
  std::int64_t far_slot_ = kNoSlot;    // of the first event in far_
  std::size_t most_near_ = kMostNear;  // so many are worth a look whether they are
  std::uint64_t refills_ = 0;
  // Between looks at how wide slots should be:
  std::uint64_t period_ = kLeastRefills;  // in refills
  std::uint64_t left_ = kLeastRefills;    // refills until the next look
  std::uint64_t seen_slots_ = 0;
  std::uint64_t seen_events_ = 0;
  std::uint64_t seen_far_ = 0;  // of these
};

}  // namespace weft::sim
