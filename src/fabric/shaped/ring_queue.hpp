// SPDX-License-Identifier: Apache-2.0
// RingQueue: a bounded first-in, first-out queue whose memory is allocated once.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "base/check.hpp"

namespace weft::shaped {

/// Overflowing it is a programmer error and aborts.
template <class T>
class RingQueue {
 public:
  explicit RingQueue(std::size_t capacity)
      : storage_(std::make_unique<T[]>(capacity)), capacity_(capacity) {}

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }

  void push_back(T value) {
    WEFT_CHECK(size_ < capacity_, "RingQueue of {} is full", capacity_);
    storage_[wrapped(first_ + size_)] = std::move(value);
    ++size_;
  }
  T& front() { return storage_[first_]; }
  const T& front() const { return storage_[first_]; }
  /// The element `i` places behind the front.
  const T& operator[](std::size_t i) const { return storage_[wrapped(first_ + i)]; }
  T pop_front() {
    WEFT_CHECK(size_ > 0);
    T value = std::move(storage_[first_]);
    first_ = wrapped(first_ + 1);
    --size_;
    return value;
  }
  /// Removes elements for which `unwanted` holds, keeping the order of the rest.
  template <class Unwanted>
  void remove_if(Unwanted unwanted) {
    for (std::size_t i = size_; i > 0; --i) {
      T value = pop_front();
      if (!unwanted(value)) push_back(std::move(value));
    }
  }

 private:
  std::size_t wrapped(std::size_t i) const { return i < capacity_ ? i : i - capacity_; }

  std::unique_ptr<T[]> storage_;
  std::size_t capacity_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

}  // namespace weft::shaped
