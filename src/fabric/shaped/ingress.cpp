// SPDX-License-Identifier: Apache-2.0
#include "fabric/shaped/ingress.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace weft::shaped {

Ingress::Ingress(const LinkShape& shape, Duration catch_up, bool cut_through, const Limits& limits)
    : link_(shape, catch_up),
      cut_through_(cut_through),
      capacity_(limits.arrivals),
      pool_(limits.message_bytes, limits.largest_message),
      delivered_(limits.arrivals) {}

std::size_t Ingress::room() const {
  const std::size_t held = slots_.size() - free_slots_.size();
  return std::min(capacity_ - held, pool_.room());
}

void Ingress::add(Arrival arrival) {
  std::uint32_t slot = 0;
  const Key key{arrival.at, next_sequence_++, 0};
  waiting_bytes_ += arrival.bytes;
  if (free_slots_.empty()) {
    WEFT_CHECK(slots_.size() < capacity_, "{} arrivals are held", capacity_);
    slot = static_cast<std::uint32_t>(slots_.size());
    slots_.push_back(std::move(arrival));
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
    slots_[slot] = std::move(arrival);
  }
  waiting_.push_back({key.at, key.sequence, slot});
  std::push_heap(waiting_.begin(), waiting_.end());
}

void Ingress::advance(Instant now) {
  now_ = now;
  while (!waiting_.empty() && waiting_.front().at <= now && link_.free_from() <= now) {
    const std::uint32_t slot = waiting_.front().slot;
    std::pop_heap(waiting_.begin(), waiting_.end());
    waiting_.pop_back();
    Arrival& arrival = slots_[slot];
    waiting_bytes_ -= arrival.bytes;
    const ByteCount bytes(arrival.bytes);
    const Duration since_first_bit = cut_through_ ? link_.time_of(bytes) : Duration{};
    const auto passage = link_.send(now, arrival.at - since_first_bit, bytes);
    if (arrival.kind == Arrival::Kind::filler) {
      free_slot(slot);
      continue;
    }
    // A latency that was shortened must not let the later overtake the earlier.
    const Instant last = delivered_.empty() ? Instant{} : delivered_[delivered_.size() - 1].at;
    delivered_.push_back({std::max(passage.arrival, last), slot});
  }
}

Arrival Ingress::take_delivery() {
  const std::uint32_t slot = delivered_.pop_front().slot;
  Arrival arrival = std::move(slots_[slot]);
  free_slot(slot);
  return arrival;
}

void Ingress::free_slot(std::uint32_t slot) {
  free_slots_.push_back(slot);
}

Instant Ingress::next_deadline() const {
  Instant next = Instant::never();
  if (!delivered_.empty()) next = delivered_.front().at;
  if (!waiting_.empty()) {
    next = std::min(next, std::max(waiting_.front().at, link_.free_from()));
  }
  return next;
}

}  // namespace weft::shaped
