// SPDX-License-Identifier: Apache-2.0
// Ring: a queue in one block of memory that grows when it must and never shrinks, so that a queue
// that has seen its bound no longer allocates.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "base/check.hpp"

namespace weft::ofi {

template <class T>
class Ring {
 public:
  explicit Ring(std::size_t capacity = 16) : storage_(capacity) {}

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  T& front() {
    WEFT_CHECK(size_ > 0);
    return storage_[first_];
  }
  void push_back(T value) {
    if (size_ == storage_.size()) grow();
    storage_[(first_ + size_) % storage_.size()] = std::move(value);
    ++size_;
  }
  void pop_front() {
    WEFT_CHECK(size_ > 0);
    first_ = (first_ + 1) % storage_.size();
    --size_;
  }
  void clear() { first_ = size_ = 0; }

 private:
  void grow() {
    std::vector<T> larger(storage_.size() * 2);
    for (std::size_t i = 0; i < size_; ++i) {
      larger[i] = std::move(storage_[(first_ + i) % storage_.size()]);
    }
    storage_ = std::move(larger);
    first_ = 0;
  }

  std::vector<T> storage_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

}  // namespace weft::ofi
