// SPDX-License-Identifier: Apache-2.0
// Operations that were posted and did not find room in the ring, or whose bytes the receiver has
// not fetched yet; per peer and in order.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/check.hpp"
#include "weft/fabric.hpp"

namespace weft::shm {

struct Operation {
  TxOp op;
  std::vector<std::byte> copy;  ///< of a message's bytes, which are the caller's again
  std::uint64_t put = 0;        ///< bytes of a write that are in the ring
  std::uint64_t end = 0;        ///< of its record in the ring, when the receiver fetches it
  Operation* next = nullptr;
};

/// First in, first out. Does not own its operations.
class OperationList {
 public:
  bool empty() const { return first_ == nullptr; }
  Operation& front() { return *first_; }
  void push(Operation& operation) {
    operation.next = nullptr;
    (first_ == nullptr ? first_ : last_->next) = &operation;
    last_ = &operation;
  }
  Operation& pop() {
    Operation& operation = *first_;
    first_ = operation.next;
    return operation;
  }

 private:
  Operation* first_ = nullptr;
  Operation* last_ = nullptr;
};

/// A fixed number of operations, allocated once.
class OperationPool {
 public:
  explicit OperationPool(std::size_t capacity) : storage_(std::make_unique<Operation[]>(capacity)) {
    for (std::size_t i = capacity; i > 0; --i) give(storage_[i - 1]);
  }
  /// Not from an empty pool. A message's bytes are copied.
  Operation& take(const TxOp& op) {
    WEFT_CHECK(free_ != nullptr);
    Operation& operation = *free_;
    free_ = operation.next;
    operation.op = op;
    operation.put = operation.end = 0;
    if (op.kind != OpKind::send) return operation;
    operation.copy.clear();
    for (const auto& segment : op.segments) {
      operation.copy.insert(operation.copy.end(), segment.begin(), segment.end());
    }
    operation.op.segments = {operation.copy};
    return operation;
  }
  void give(Operation& operation) {
    // Memory of a large copy is not kept for the next message.
    if (operation.copy.capacity() > kKeptCopy) operation.copy = {};
    operation.next = free_;
    free_ = &operation;
  }

 private:
  static constexpr std::size_t kKeptCopy = 4096;

  std::unique_ptr<Operation[]> storage_;
  Operation* free_ = nullptr;
};

}  // namespace weft::shm
