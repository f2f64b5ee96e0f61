// SPDX-License-Identifier: Apache-2.0
// FixedVec: a vector whose capacity is set once. Outboxes are made of it: writing into it never
// allocates, and overflowing it is a programmer error, caught always.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "base/check.hpp"

namespace weft {

/// Elements are overwritten in place. Those that are plain bytes are left as memory comes, so that
/// room that is never used costs addresses only; others are default-constructed once, at
/// construction.
template <class T>
class FixedVec {
 public:
  explicit FixedVec(std::size_t capacity) : storage_(allocate(capacity)), capacity_(capacity) {}

  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }
  std::size_t room() const { return capacity_ - size_; }
  bool empty() const { return size_ == 0; }
  bool full() const { return size_ == capacity_; }
  void clear() { size_ = 0; }

  /// Aborts when full: the owner sized it wrongly or did not ask `room`.
  T& push_back(T value) {
    WEFT_CHECK(size_ < capacity_, "FixedVec of {} is full", capacity_);
    storage_.get()[size_] = std::move(value);
    return storage_.get()[size_++];
  }
  /// Grows by `n` elements that were written in place behind `end()`.
  void extend(std::size_t n) {
    WEFT_CHECK(n <= room());
    size_ += n;
  }
  /// Drops the first `n` elements, keeping the order of the rest.
  void drop_front(std::size_t n) {
    WEFT_CHECK(n <= size_);
    for (std::size_t i = n; i < size_; ++i) storage_.get()[i - n] = std::move(storage_.get()[i]);
    size_ -= n;
  }
  /// Drops the last `n` elements.
  void drop_back(std::size_t n) {
    WEFT_CHECK(n <= size_);
    size_ -= n;
  }

  T& operator[](std::size_t i) { return storage_.get()[i]; }
  const T& operator[](std::size_t i) const { return storage_.get()[i]; }
  T* begin() { return storage_.get(); }
  T* end() { return storage_.get() + size_; }
  const T* begin() const { return storage_.get(); }
  const T* end() const { return storage_.get() + size_; }
  std::span<const T> view() const { return {storage_.get(), size_}; }
  std::span<T> view() { return {storage_.get(), size_}; }

 private:
  static constexpr bool plain =
      std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>;

  struct Free {
    std::size_t capacity = 0;
    void operator()(T* storage) const {
      if constexpr (!plain) std::destroy_n(storage, capacity);
      std::allocator<T>().deallocate(storage, capacity);
    }
  };
  using Storage = std::unique_ptr<T, Free>;

  static Storage allocate(std::size_t capacity) {
    T* const memory = std::allocator<T>().allocate(capacity);
    if constexpr (!plain) std::uninitialized_default_construct_n(memory, capacity);
    return Storage(memory, Free{capacity});
  }

  Storage storage_;
  std::size_t capacity_;
  std::size_t size_ = 0;
};

}  // namespace weft
