// SPDX-License-Identifier: Apache-2.0
// Operations that were posted and did not find room in the ring, or whose bytes the receiver has
// not fetched yet; per peer and in order.
#pragma once

#include <cstdint>

#include "base/free_list.hpp"
#include "base/message_copy.hpp"
#include "weft/fabric.hpp"

namespace weft::shm {

struct QueuedOperation {
  TxOp op;
  MessageCopy copy;       ///< of a message's bytes, which are the caller's again
  std::uint64_t put = 0;  ///< bytes of a write that are in the ring
  std::uint64_t end = 0;  ///< of its record in the ring, when the receiver fetches it
  QueuedOperation* next = nullptr;

  /// Makes this operation one for `posted`. A message's bytes are copied.
  QueuedOperation& begin(const TxOp& posted) {
    op = posted;
    put = end = 0;
    if (posted.kind == OpKind::send) op.segments = {copy.take(posted.segments)};
    return *this;
  }
  void clear() { copy.clear(); }
};

/// First in, first out. Does not own its operations.
class OperationList {
 public:
  bool empty() const { return first_ == nullptr; }
  QueuedOperation& front() { return *first_; }
  void push(QueuedOperation& operation) {
    operation.next = nullptr;
    (first_ == nullptr ? first_ : last_->next) = &operation;
    last_ = &operation;
  }
  QueuedOperation& pop() {
    QueuedOperation& operation = *first_;
    first_ = operation.next;
    return operation;
  }

 private:
  QueuedOperation* first_ = nullptr;
  QueuedOperation* last_ = nullptr;
};

using Operations = FreeList<QueuedOperation>;

}  // namespace weft::shm
