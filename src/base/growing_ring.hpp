// SPDX-License-Identifier: Apache-2.0
// GrowingRing: a queue in one block of memory that grows when it must and never shrinks, so that a
// queue that has seen its bound no longer allocates.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.hpp"

namespace weft {

/// Has no memory until something is put in. References last until the next `push_back`.
template <class T>
class GrowingRing {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  T& front() {
    WEFT_CHECK(size_ > 0);
    return storage_[first_];
  }
  /// The element `i` places behind the front; i < size.
  T& operator[](std::size_t i) { return storage_[(first_ + i) & (storage_.size() - 1)]; }
  const T& operator[](std::size_t i) const {
    return storage_[(first_ + i) & (storage_.size() - 1)];
  }
  void push_back(T value) {
    if (size_ == storage_.size()) grow();
    storage_[(first_ + size_) & (storage_.size() - 1)] = std::move(value);
    ++size_;
  }
  void pop_front() {
    WEFT_CHECK(size_ > 0);
    if constexpr (!std::is_trivially_destructible_v<T>) storage_[first_] = T{};
    first_ = (first_ + 1) & (storage_.size() - 1);
    --size_;
  }
  void clear() {
    while (!empty()) pop_front();
  }

 private:
  static constexpr std::size_t smallest = 8;

  void grow() {
    std::vector<T> larger(storage_.empty() ? smallest : storage_.size() * 2);
    for (std::size_t i = 0; i < size_; ++i) larger[i] = std::move((*this)[i]);
    storage_ = std::move(larger);
    first_ = 0;
  }

  std::vector<T> storage_;  // a power of two
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

}  // namespace weft
