// SPDX-License-Identifier: Apache-2.0
// Integers: an array of counts or displacements of the caller's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace weft::mpi {

/// An array argument whose elements are int or 64 bits wide.
class Integers {
 public:
  template <class T>
  Integers(const T* values) : values_(values), bytes_(sizeof(T)) {
    static_assert(sizeof(T) == sizeof(int) || sizeof(T) == sizeof(std::int64_t));
  }
  std::int64_t operator[](std::size_t i) const {
    if (bytes_ == sizeof(int)) return static_cast<const int*>(values_)[i];
    std::int64_t value = 0;
    std::memcpy(&value, static_cast<const char*>(values_) + i * sizeof value, sizeof value);
    return value;
  }

  friend bool operator==(const Integers& integers, std::nullptr_t) {
    return integers.values_ == nullptr;
  }

 private:
  const void* values_;
  std::size_t bytes_;
};

}  // namespace weft::mpi
