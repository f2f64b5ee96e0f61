// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/event_queue.hpp"

#include <algorithm>
#include <bit>
#include <vector>

namespace weft::sim {
namespace {

constexpr unsigned fewest_count_bits = 8;
constexpr unsigned most_count_bits = 18;
constexpr unsigned most_slot_bits = 40;
constexpr unsigned most_bits_at_once = 3;
constexpr std::size_t most_in_cache = 8192;  // events, of half a cache line each

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
/// others of its slots are in far_, none goes behind the last one.
void EventQueue::push_near(const Event& event) {
  if (end_ == kMostNear) compact();
  const bool is_full = end_ == kMostNear;
  if (is_full || far_slot_ <= slot_) {
    ++crowd_;
    if (!(event < near_[end_ - 1])) return push_far(event);
    if (is_full) push_far(near_[--end_]);
  }
  std::size_t hole = end_++;
  for (; hole > first_ && event < near_[hole - 1]; --hole) near_[hole] = near_[hole - 1];
  near_[hole] = event;
  refill_at_ = looks_ahead_ ? std::max(refill_at_, first_ + 1) : end_;
}

void EventQueue::push_far(const Event& event) {
  far_.push(event);
  far_slot_ = wheel_.slot_of(far_.front().time);
}

/// Moves the events to the array's beginning.
void EventQueue::compact() {
  std::copy(near_.begin() + static_cast<std::ptrdiff_t>(first_),
            near_.begin() + static_cast<std::ptrdiff_t>(end_), near_.begin());
  end_ -= first_;
  refill_at_ -= first_;
  first_ = 0;
}

/// Fetches into the cache the events of the slots that will be taken at the next refill. The wheel
/// is not empty.
void EventQueue::fetch_slots() const {
  std::int64_t slot = beyond_;
  for (std::size_t i = 0; i < kEnoughNear - kMostAhead; ++i) {
    wheel_.fetch(slot);
    slot += wheel_.distance_from(slot);
  }
}

/// Events move to the array: those of several slots if the queue looks ahead, else of the next one.
void EventQueue::refill() {
  const std::int64_t slot = beyond_;
  const bool has_others = far_slot_ <= slot || first_ != end_;
  if (looks_ahead_ || has_others || seen_events_ >= period_) return refill_with_others();
  first_ = 0;
  seen_slots_ += static_cast<std::uint64_t>(slot - slot_);
  slot_ = slot;
  take_from_wheel(slot, 0);
  if (far_slot_ <= slot) [[unlikely]]
    take_far(slot, 0);
  if (end_ > 1) sort_near(0);
  seen_events_ += end_;
  refill_at_ = end_;
}

/// The next slots with events in them move to the array, in which few are left or none.
void EventQueue::refill_with_others() {
  compact();
  take_slots();
  if (end_ == 0) {
    slot_ = kNoSlot;
    return;
  }
  if (seen_events_ >= period_) {
    adapt();
    take_slots();
  }
  if (wheel_.size() > most_in_cache && beyond_ != kNoSlot) fetch_slots();
  refill_at_ = looks_ahead_ && end_ >= kEnoughNear ? end_ - kMostAhead : end_;
}

/// Not too far ahead: what is pushed meanwhile has to be put in order with the events in the array.
void EventQueue::take_slots() {
  while (end_ < (looks_ahead_ ? kEnoughNear : 1)) {
    const std::int64_t next = std::min(far_slot_, beyond_);
    if (next == kNoSlot) return;
    if (end_ > 0 && next - wheel_.slot_of(near_[0].time) > kMostSlotsNear) return;
    take_slot(next);
    if (far_slot_ <= slot_) return;
  }
}

void EventQueue::take_slot(std::int64_t next) {
  const std::int64_t slot = std::max(slot_, next);
  seen_slots_ += static_cast<std::uint64_t>(slot - slot_);
  slot_ = slot;
  const std::size_t from = end_;
  if (beyond_ == slot) take_from_wheel(slot, from);
  if (far_slot_ <= slot) [[unlikely]]
    take_far(slot, from);
  sort_near(from);
  seen_events_ += end_ - from;
}

/// The wheel's next slot moves to the array, from `from` on; or to far_ if it does not fit.
void EventQueue::take_from_wheel(std::int64_t slot, std::size_t from) {
  std::size_t end = from;
  wheel_.take(slot, [this, from, &end](const Event& event) {
    if (end == kMostNear) [[unlikely]] {
      end_ = end;
      spread_near(from);
      end = from;
    }
    near_[end++] = event;
  });
  end_ = end;
  beyond_ = wheel_.size() == 0 ? kNoSlot : slot + wheel_.distance_from(slot);
}

void EventQueue::sort_near(std::size_t from) {
  for (std::size_t i = from + 1; i < end_; ++i) {
    if (!(near_[i] < near_[i - 1])) continue;
    const Event event = near_[i];
    std::size_t hole = i;
    do {
      near_[hole] = near_[hole - 1];
      --hole;
    } while (hole > from && event < near_[hole - 1]);
    near_[hole] = event;
  }
}

/// The array's events of a slot, which begin at `from`, go to far_: there are more than fit.
void EventQueue::spread_near(std::size_t from) {
  for (std::size_t i = from; i < end_; ++i) far_.push(near_[i]);
  end_ = from;
  far_slot_ = wheel_.slot_of(far_.front().time);
}

/// The events of far_ that are in the slot or before it move to the array, where those of the slot
/// begin at `from`; if they are too many, the first ones of the slot.
void EventQueue::take_far(std::int64_t slot, std::size_t from) {
  const auto take = [&] {
    near_[end_++] = far_.pop();
    ++seen_far_;
    far_slot_ = far_.empty() ? kNoSlot : wheel_.slot_of(far_.front().time);
  };
  while (far_slot_ <= slot && end_ < kMostNear) take();
  if (far_slot_ <= slot) {
    spread_near(from);
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
  // An event in each slot is too much.
  const std::uint64_t excess = seen_events_ / std::max<std::uint64_t>(1, seen_slots_);
  // As many more slots follow each other, so that the wheel reaches as far as before.
  const unsigned narrower = std::min({static_cast<unsigned>(std::bit_width(excess)), slot_bits,
                                      most_bits_at_once, most_count_bits - count_bits});
  const bool sparse = seen_slots_ > 16 * seen_events_;
  const bool short_of = 8 * seen_far_ > seen_events_;
  seen_slots_ = seen_events_ = seen_far_ = 0;
  period_ = std::max<std::uint64_t>(kLeastPeriod, 2 * size());
  const std::size_t slots_per_event = (std::size_t{1} << count_bits) / (size() + 1);
  if (narrower > 0) {
    slot_bits -= narrower;
    count_bits += narrower;
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
  first_ = end_ = refill_at_ = 0;
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
