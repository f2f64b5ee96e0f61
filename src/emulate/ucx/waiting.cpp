// SPDX-License-Identifier: Apache-2.0
#include "emulate/ucx/waiting.hpp"

#include <stdlib.h>

namespace weft::emulate::ucx {

bool WaitingQueue::push(Waiting* waiting) {
  waiting->number = pushed_++;
  const bool in_order = first_ == end_ || !before(waiting, ring_[(end_ - 1) & (ring_size_ - 1)]);
  if (!in_order) return push_heap(waiting);
  if (end_ - first_ == ring_size_ && !grow_ring()) return false;
  ring_[end_++ & (ring_size_ - 1)] = waiting;
  return true;
}

bool WaitingQueue::grow_ring() {
  const std::size_t wanted = ring_size_ == 0 ? 256 : 2 * ring_size_;
  auto* grown = static_cast<Waiting**>(::malloc(wanted * sizeof(Waiting*)));
  if (grown == nullptr) return false;
  for (std::size_t i = first_; i != end_; ++i) {
    grown[i & (wanted - 1)] = ring_[i & (ring_size_ - 1)];
  }
  ::free(ring_);
  ring_ = grown;
  ring_size_ = wanted;
  return true;
}

bool WaitingQueue::push_heap(Waiting* waiting) {
  if (count_ == capacity_) {
    const std::size_t wanted = capacity_ == 0 ? 256 : 2 * capacity_;
    auto* grown = static_cast<Waiting**>(::realloc(heap_, wanted * sizeof(Waiting*)));
    if (grown == nullptr) return false;
    heap_ = grown;
    capacity_ = wanted;
  }
  heap_[count_] = waiting;
  sift_up(count_++);
  return true;
}

Waiting* WaitingQueue::pop() {
  Waiting* const first = next();
  if (count_ == 0 || first != heap_[0]) {
    ++first_;
    return first;
  }
  heap_[0] = heap_[--count_];
  if (count_ > 1) sift_down(0);
  return first;
}

void WaitingQueue::drop_of(const Interface* interface) {
  std::size_t end = first_;
  for (std::size_t i = first_; i != end_; ++i) {
    Waiting* const waiting = ring_[i & (ring_size_ - 1)];
    if (waiting->interface == interface) {
      waiting->drop(waiting);
    } else {
      ring_[end++ & (ring_size_ - 1)] = waiting;
    }
  }
  end_ = end;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    if (heap_[i]->interface == interface) {
      heap_[i]->drop(heap_[i]);
    } else {
      heap_[kept++] = heap_[i];
    }
  }
  count_ = kept;
  for (std::size_t i = kept / 2; i-- > 0;) sift_down(i);
}

void WaitingQueue::sift_up(std::size_t i) {
  Waiting* const moved = heap_[i];
  while (i > 0) {
    const std::size_t parent = (i - 1) / 2;
    if (!before(moved, heap_[parent])) break;
    heap_[i] = heap_[parent];
    i = parent;
  }
  heap_[i] = moved;
}

void WaitingQueue::sift_down(std::size_t i) {
  Waiting* const moved = heap_[i];
  for (;;) {
    std::size_t child = 2 * i + 1;
    if (child >= count_) break;
    if (child + 1 < count_ && before(heap_[child + 1], heap_[child])) ++child;
    if (!before(heap_[child], moved)) break;
    heap_[i] = heap_[child];
    i = child;
  }
  heap_[i] = moved;
}

}  // namespace weft::emulate::ucx
