// SPDX-License-Identifier: Apache-2.0
// FreeList: a pool of a fixed number of objects, which allocates once and lends in constant time.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/check.hpp"

namespace weft {

/// Owns all items. An Item needs a member `Item* next`, which the list uses while the item is free
/// and the caller while it is taken, and a function `clear()`, which releases the resources that a
/// free item must not hold. The list does not change other members. One thread at a time.
template <class Item>
class FreeList {
 public:
  explicit FreeList(std::size_t capacity)
      : items_(std::make_unique<Item[]>(capacity)), capacity_(capacity) {
    for (std::size_t i = capacity; i > 0; --i) add(items_[i - 1]);
  }

  bool empty() const { return free_ == nullptr; }
  /// Takes an item, whose `next` is null. Aborts when the list is empty.
  Item& take() {
    WEFT_CHECK(free_ != nullptr);
    Item& item = *free_;
    free_ = item.next;
    item.next = nullptr;
    return item;
  }
  /// Clears an item that `take` returned and makes it free.
  void give(Item& item) {
    item.clear();
    add(item);
  }
  /// Returns all items, free or taken; `take` of a new list returns the front one.
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
