// SPDX-License-Identifier: Apache-2.0
// GrowingRing: a queue in one block of memory that grows when it must and never shrinks, so that a
// queue that has seen its bound no longer allocates.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include "base/check.hpp"

namespace weft {

/// Has no memory until something is put in. References last until something is put in or erased.
template <class T>
class GrowingRing {
 public:
  GrowingRing() = default;
  GrowingRing(GrowingRing&& other) noexcept { swap(other); }
  GrowingRing& operator=(GrowingRing&& other) noexcept {
    swap(other);
    return *this;
  }
  ~GrowingRing() {
    clear();
    if (room_ > 0) std::allocator<T>().deallocate(elements_, room_);
  }

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  T& front() {
    WEFT_CHECK(size_ > 0);
    return elements_[first_];
  }
  /// The element `i` places behind the front; i < size.
  T& operator[](std::size_t i) { return elements_[place(i)]; }
  const T& operator[](std::size_t i) const { return elements_[place(i)]; }
  void push_back(T value) { emplace_back(std::move(value)); }
  /// Made in place: T{arguments…}. None of them is in here.
  template <class... Arguments>
  T& emplace_back(Arguments&&... arguments) {
    if (size_ == room_) grow();
    T* const made = new (&elements_[place(size_)]) T{std::forward<Arguments>(arguments)...};
    ++size_;
    return *made;
  }
  void pop_front() {
    WEFT_CHECK(size_ > 0);
    std::destroy_at(&elements_[first_]);
    first_ = place(1);
    --size_;
  }
  /// Moves the elements in front of element `i` one place back: fast near the front.
  void erase(std::size_t i) {
    WEFT_CHECK(i < size_);
    for (; i > 0; --i) (*this)[i] = std::move((*this)[i - 1]);
    pop_front();
  }
  void clear() {
    while (!empty()) pop_front();
  }

 private:
  static constexpr std::size_t smallest = 8;

  std::size_t place(std::size_t i) const { return (first_ + i) & (room_ - 1); }
  void swap(GrowingRing& other) {
    std::swap(elements_, other.elements_);
    std::swap(room_, other.room_);
    std::swap(first_, other.first_);
    std::swap(size_, other.size_);
  }
  void grow() {
    const std::size_t room = std::max(smallest, room_ * 2);
    T* const larger = std::allocator<T>().allocate(room);
    for (std::size_t i = 0; i < size_; ++i) {
      new (&larger[i]) T(std::move((*this)[i]));
      std::destroy_at(&(*this)[i]);
    }
    if (room_ > 0) std::allocator<T>().deallocate(elements_, room_);
    elements_ = larger;
    room_ = room;
    first_ = 0;
  }

  T* elements_ = nullptr;
  std::size_t room_ = 0;  // a power of two
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

}  // namespace weft
