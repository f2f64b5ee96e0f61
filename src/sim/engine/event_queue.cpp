// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/event_queue.hpp"

#include <algorithm>
#include <vector>

namespace weft::sim {
namespace {

constexpr unsigned fewest_count_bits = 8;
constexpr unsigned most_count_bits = 16;
constexpr unsigned most_slot_bits = 40;
/// A slot should hold no more on average, if narrower ones hold fewer.
constexpr std::uint64_t most_events_in_slot = 3;

}  // namespace

/// An event that is not for the wheel.
void EventQueue::push_elsewhere(PicoInstant time, std::uint64_t place, std::uint32_t target,
                                EventKind kind, std::uint16_t detail, std::uint64_t payload) {
  const Event event{.time = time,
                    .sequence = static_cast<std::uint32_t>(place),
                    .source = static_cast<std::uint32_t>(place >> 32),
                    .target = target,
                    .kind = kind,
                    .detail = detail,
                    .payload = payload};
  const std::int64_t slot = wheel_.slot_of(time);
  if (slot_ == kNoSlot) slot_ = slot;
  if (slot > slot_) return push_far(event);
  push_near(event);
  // Most of these events are not near: the first ones pushed were late ones.
  if (crowd_ > most_crowd_) rebuild(wheel_.slot_bits(), wheel_.count_bits());
}

/// Puts the event in its place in the array. If that is full, the last one leaves it; and while
/// others of the slot are in far_, none goes behind the last one.
void EventQueue::push_near(const Event& event) {
  if (end_ == kMostNear && first_ > 0) {
    std::copy(near_.begin() + static_cast<std::ptrdiff_t>(first_), near_.end(), near_.begin());
    end_ -= first_;
    first_ = 0;
  }
  const bool is_full = end_ == kMostNear;
  if (is_full || far_slot_ <= slot_) {
    ++crowd_;
    if (!(event < near_[end_ - 1])) return push_far(event);
    if (is_full) push_far(near_[--end_]);
  }
  std::size_t hole = end_++;
  for (; hole > first_ && event < near_[hole - 1]; --hole) near_[hole] = near_[hole - 1];
  near_[hole] = event;
}

void EventQueue::push_far(const Event& event) {
  far_.push(event);
  far_slot_ = wheel_.slot_of(far_.front().time);
}

/// The next slot with events in it moves to the array, which is empty.
void EventQueue::refill() {
  first_ = end_ = 0;
  const std::int64_t next = std::min(far_slot_, beyond_);
  if (next == kNoSlot) {
    slot_ = kNoSlot;
    return;
  }
  const std::int64_t slot = std::max(slot_, next);
  seen_slots_ += static_cast<std::uint64_t>(slot - slot_);
  slot_ = slot;
  if (beyond_ == slot) {
    wheel_.take(slot, [this](const Event& event) {
      if (end_ == kMostNear) spread_near();
      near_[end_++] = event;
    });
    beyond_ = wheel_.size() == 0 ? kNoSlot : slot + wheel_.distance_from(slot);
  }
  if (far_slot_ <= slot) [[unlikely]]
    take_far(slot);
  sort_near();
  ++refills_;
  seen_events_ += end_;
  if (--left_ == 0) adapt();
}

void EventQueue::sort_near() {
  for (std::size_t i = 1; i < end_; ++i) {
    if (!(near_[i] < near_[i - 1])) continue;
    const Event event = near_[i];
    std::size_t hole = i;
    do {
      near_[hole] = near_[hole - 1];
      --hole;
    } while (hole > 0 && event < near_[hole - 1]);
    near_[hole] = event;
  }
}

/// All of the array goes to far_: more events are in the slot than fit.
void EventQueue::spread_near() {
  for (std::size_t i = 0; i < end_; ++i) far_.push(near_[i]);
  end_ = 0;
  far_slot_ = wheel_.slot_of(far_.front().time);
}

/// The events of far_ that are in the slot or before it move to the array; if they are too many,
/// the first ones of the slot.
void EventQueue::take_far(std::int64_t slot) {
  const auto take = [&] {
    near_[end_++] = far_.pop();
    ++seen_far_;
    far_slot_ = far_.empty() ? kNoSlot : wheel_.slot_of(far_.front().time);
  };
  while (far_slot_ <= slot && end_ < kMostNear) take();
  if (far_slot_ <= slot) {
    spread_near();
    while (end_ < kMostNear) take();
  }
  crowd_ = 0;
  most_crowd_ = std::max(kLeastCrowd, 2 * far_.size());
}

/// Wide slots hold many events to sort, narrow ones are many to pass over, and events beyond the
/// wheel cost as in a heap.
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
  std::vector<Event> events(near_.begin() + static_cast<std::ptrdiff_t>(first_),
                            near_.begin() + static_cast<std::ptrdiff_t>(end_));
  for (const Event& event : far_.events()) events.push_back(event);
  first_ = end_ = 0;
  far_.clear();
  far_slot_ = beyond_ = kNoSlot;
  wheel_.reset(slot_bits, count_bits, [&](const Event& event) { events.push_back(event); });
  slot_ = wheel_.slot_of(events.front().time);
  crowd_ = 0;
  most_crowd_ = events.size();  // the pushes below are no reason to do this again
  for (const Event& event : events) push(event);
  crowd_ = 0;
  most_crowd_ = std::max(kLeastCrowd, 2 * far_.size());
}

}  // namespace weft::sim
