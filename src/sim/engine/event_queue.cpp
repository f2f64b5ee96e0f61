// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/event_queue.hpp"

#include <algorithm>

namespace weft::sim {
namespace {

constexpr unsigned fewest_count_bits = 8;
constexpr unsigned most_count_bits = 16;
constexpr unsigned most_slot_bits = 40;
/// A slot should hold no more on average, if narrower ones hold fewer.
constexpr std::uint64_t most_events_in_slot = 3;

}  // namespace

/// The next slot with events in it moves to the near heap.
void EventQueue::refill() {
  const std::int64_t slot = std::min(far_slot_, beyond_);
  if (slot == kNoSlot) return;
  seen_slots_ += static_cast<std::uint64_t>(slot - slot_);
  slot_ = slot;
  if (beyond_ == slot) {
    wheel_.take(slot, [this](const Event& event) { near_.append(event); });
    beyond_ = wheel_.size() == 0 ? kNoSlot : slot + wheel_.distance_from(slot);
  }
  while (far_slot_ == slot) {
    near_.append(far_.pop());
    ++seen_far_;
    far_slot_ = far_.empty() ? kNoSlot : wheel_.slot_of(far_.front().time);
  }
  near_.order();
  most_near_ = std::max(kMostNear, 2 * near_.size());
  ++refills_;
  seen_events_ += near_.size();
  if (--left_ == 0) adapt();
}

/// Wide slots make large heaps, narrow ones are many to pass over, and events beyond the wheel cost
/// as in a heap.
void EventQueue::adapt() {
  unsigned slot_bits = wheel_.slot_bits();
  unsigned count_bits = wheel_.count_bits();
  const bool full = seen_events_ > most_events_in_slot * period_;
  const bool dense = seen_slots_ < 4 * period_;  // else events come at the same instants
  const bool sparse = seen_slots_ > 16 * period_;
  const bool short_of = 8 * seen_far_ > seen_events_;
  seen_slots_ = seen_events_ = seen_far_ = 0;
  period_ = left_ = std::max<std::uint64_t>(kLeastRefills, size());
  const std::size_t slots_per_event = (std::size_t{1} << count_bits) / (size() + 1);
  if (full && dense && slot_bits > 0) {
    --slot_bits;
    if (count_bits < most_count_bits) ++count_bits;
  } else if (sparse && slot_bits < most_slot_bits) {
    ++slot_bits;
  } else if (short_of && slots_per_event < 16 && count_bits < most_count_bits) {
    ++count_bits;
  } else if (slots_per_event > 64 && count_bits > fewest_count_bits) {
    --count_bits;
  } else {
    return;
  }
  rebuild(slot_bits, count_bits);
}

void EventQueue::rebuild(unsigned slot_bits, unsigned count_bits) {
  std::vector<Event> events = near_.events();
  for (const Event& event : far_.events()) events.push_back(event);
  near_.clear();
  far_.clear();
  far_slot_ = beyond_ = kNoSlot;
  wheel_.reset(slot_bits, count_bits, [&](const Event& event) { events.push_back(event); });
  slot_ = wheel_.slot_of(events.front().time);
  most_near_ = events.size();  // the pushes below are no reason to spread them
  near_.push(events.front());
  for (std::size_t i = 1; i < events.size(); ++i) push(events[i]);
  most_near_ = std::max(kMostNear, 2 * near_.size());
}

}  // namespace weft::sim
