// SPDX-License-Identifier: Apache-2.0
// Pool: records found by number, reused when freed. Grows to the most records needed at once and no
// further.
#pragma once

#include <cstdint>
#include <vector>

#include "base/check.hpp"
#include "base/huge_pages.hpp"

namespace weft::sim {

/// No record: the end of lists that are linked by number.
inline constexpr std::uint32_t kNone = 0xffff'ffff;

/// `T` has a `std::uint32_t next`, used for the list of free records; its value is the user's while
/// the record is taken.
template <class T>
class Pool {
 public:
  /// The number of a record with unspecified content.
  std::uint32_t take() {
    ++in_use_;
    if (free_ == kNone) {
      records_.emplace_back();
      return static_cast<std::uint32_t>(records_.size() - 1);
    }
    const std::uint32_t index = free_;
    free_ = records_[index].next;
    return index;
  }
  void give_back(std::uint32_t index) {
    --in_use_;
    records_[index].next = free_;
    free_ = index;
  }
  /// References last until the next `take`.
  T& operator[](std::uint32_t index) { return records_[index]; }
  const T& operator[](std::uint32_t index) const { return records_[index]; }
  const T* data() const { return records_.data(); }
  std::uint32_t in_use() const { return in_use_; }
  /// Numbers are below that.
  std::size_t size() const { return records_.size(); }
  std::size_t capacity_bytes() const { return records_.capacity() * sizeof(T); }

 private:
  HugeVector<T> records_;
  std::uint32_t free_ = kNone;
  std::uint32_t in_use_ = 0;
};

}  // namespace weft::sim
