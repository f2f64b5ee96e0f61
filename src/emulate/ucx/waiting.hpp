// SPDX-License-Identifier: Apache-2.0
// Waiting: messages and completions that a worker has and may not show yet, in the order in which
// they fall due.
#pragma once

#include <uct/api/uct.h>

#include "emulate/policy/clock.hpp"

namespace weft::emulate::ucx {

struct Interface;

/// The first member of a message or completion that waits.
struct Waiting {
  void (*release)(Waiting* self);  ///< shows it; `self` is no longer of concern afterwards
  void (*drop)(Waiting* self);     ///< its interface is closed
  Interface* interface;
  Picoseconds due;
  std::uint64_t number;
};

/// A queue by due time; entries due at the same time come out as they went in. Messages mostly fall
/// due in the order in which they come: those are in a ring, and only overtaking ones in a heap.
class WaitingQueue {
 public:
  bool empty() const { return count_ == 0 && first_ == end_; }
  Picoseconds next_due() const { return next()->due; }
  /// False when there is no memory; it is the caller's then.
  bool push(Waiting* waiting);
  Waiting* pop();
  void drop_of(const Interface* interface);

 private:
  static bool before(const Waiting* a, const Waiting* b) {
    return a->due != b->due ? a->due < b->due : a->number < b->number;
  }
  Waiting* next() const {
    if (first_ == end_) return heap_[0];
    Waiting* const in_order = ring_[first_ & (ring_size_ - 1)];
    return count_ > 0 && before(heap_[0], in_order) ? heap_[0] : in_order;
  }
  bool grow_ring();
  bool push_heap(Waiting* waiting);
  void sift_up(std::size_t i);
  void sift_down(std::size_t i);

  Waiting** ring_ = nullptr;
  std::size_t ring_size_ = 0;  // a power of two
  std::size_t first_ = 0;      // numbers in the ring, modulo its size
  std::size_t end_ = 0;
  Waiting** heap_ = nullptr;
  std::size_t count_ = 0;
  std::size_t capacity_ = 0;
  std::uint64_t pushed_ = 0;
};

}  // namespace weft::emulate::ucx
