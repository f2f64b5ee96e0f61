// SPDX-License-Identifier: Apache-2.0
#include "fabric/shaped/ingress.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace weft::shaped {

void Ingress::push(std::vector<Key>& heap, Key key) {
  heap.push_back(key);
  std::push_heap(heap.begin(), heap.end());
}

Ingress::Key Ingress::pop(std::vector<Key>& heap) {
  std::pop_heap(heap.begin(), heap.end());
  const Key first = heap.back();
  heap.pop_back();
  return first;
}

Ingress::Ingress(const LinkShape& shape, Duration catch_up, bool cut_through, const Limits& limits)
    : link_(shape, catch_up),
      patience_(std::min(Duration(catch_up.ticks() / 2), kMostPatience)),
      cut_through_(cut_through),
      capacity_(limits.arrivals),
      pool_(limits.message_bytes, limits.largest_message),
      delivered_(limits.arrivals) {}

std::size_t Ingress::room() const {
  const std::size_t held = slots_.size() - free_slots_.size();
  return std::min(capacity_ - held, pool_.room());
}

void Ingress::add(Arrival arrival) {
  Key key{arrival.at, next_sequence_++, 0};
  const bool awaited = arrival.kind != Arrival::Kind::filler;
  waiting_bytes_ += arrival.bytes;
  if (free_slots_.empty()) {
    WEFT_CHECK(slots_.size() < capacity_, "{} arrivals are held", capacity_);
    key.slot = static_cast<std::uint32_t>(slots_.size());
    slots_.push_back(std::move(arrival));
  } else {
    key.slot = free_slots_.back();
    free_slots_.pop_back();
    slots_[key.slot] = std::move(arrival);
  }
  push(waiting_, key);
  if (awaited) push(awaited_, key);
}

void Ingress::advance(Instant now) {
  now_ = now;
  while (link_.free_from() <= now && !waiting_.empty() && waiting_.front().at <= now) {
    const Instant end = now + kTurn;
    do {
      serve_first(now);
    } while (link_.free_from() <= end && !waiting_.empty() && waiting_.front().at <= now);
  }
}

void Ingress::serve_first(Instant now) {
  const std::uint32_t slot = pop(waiting_).slot;
  Arrival& arrival = slots_[slot];
  waiting_bytes_ -= arrival.bytes;
  const ByteCount bytes(arrival.bytes);
  const Duration since_first_bit = cut_through_ ? link_.time_of(bytes) : Duration{};
  const auto passage = link_.send(now, arrival.at - since_first_bit, bytes);
  if (arrival.kind == Arrival::Kind::filler) {
    free_slot(slot);
    return;
  }
  pop(awaited_);  // the same one: both are in order
  // A latency that was shortened must not let the later overtake the earlier.
  const Instant last = delivered_.empty() ? Instant{} : delivered_[delivered_.size() - 1].at;
  delivered_.push_back({std::max(passage.arrival, last), slot});
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
    const Instant free = link_.free_from();
    next = std::min(next, std::max(waiting_.front().at, free) + patience_);
    if (!awaited_.empty()) {
      const Key& first = awaited_.front();
      const ByteCount bytes(cut_through_ ? 0 : slots_[first.slot].bytes);
      next = std::min(next, std::max(first.at, free) + link_.time_of(bytes));
    }
  }
  return next;
}

void Ingress::set_shape(Instant now, const LinkShape& shape) {
  advance(now);
  link_.set_shape(now, shape);
}

}  // namespace weft::shaped
