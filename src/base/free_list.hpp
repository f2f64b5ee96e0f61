// SPDX-License-Identifier: Apache-2.0
// FreeList: a fixed number of objects, allocated once, handed out and taken back in constant time.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/check.hpp"

namespace weft {

/// Items have a member `Item* next`, which is the list's while an item is free and its user's while
/// it is taken, and `clear()`, which releases resources that a free item must not hold. Other
/// members stay as their last user left them. One thread at a time.
template <class Item>
class FreeList {
 public:
  explicit FreeList(std::size_t capacity)
      : items_(std::make_unique<Item[]>(capacity)), capacity_(capacity) {
    for (std::size_t i = capacity; i > 0; --i) add(items_[i - 1]);
  }

  bool empty() const { return free_ == nullptr; }
  /// Not from an empty list. `next` is null.
  Item& take() {
    WEFT_CHECK(free_ != nullptr);
    Item& item = *free_;
    free_ = item.next;
    item.next = nullptr;
    return item;
  }
  /// An item that `take` returned.
  void give(Item& item) {
    item.clear();
    add(item);
  }
  /// All of them, free or not; the one at the front is the first to be taken.
  std::span<Item> all() { return {items_.get(), capacity_}; }

 private:
  void add(Item& item) {
    item.next = free_;
    free_ = &item;
  }

  std::unique_ptr<Item[]> items_;
  std::size_t capacity_;
  Item* free_ = nullptr;
};

}  // namespace weft
