// SPDX-License-Identifier: Apache-2.0
// Operations that were posted and are not yet in the socket, per peer and in order.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <span>

#include "base/free_list.hpp"
#include "base/message_copy.hpp"
#include "fabric/tcp/frame.hpp"
#include "weft/fabric.hpp"

namespace weft::tcp {

/// An operation as it goes on the wire: header, then the segments.
struct QueuedFrame {
  TxOp op;
  HeaderBytes header;
  MessageCopy copy;          // of a message that did not leave within `post`
  bool is_borrowed = false;  // a send whose segments are the caller's until `post` returns
  QueuedFrame* next = nullptr;

  std::size_t frame_size() const { return kHeaderSize + op.size(); }
  /// Makes this operation one for `posted`, whose memory stays borrowed.
  QueuedFrame& begin(const TxOp& posted);
  void clear() { copy.clear(); }
};

using Operations = FreeList<QueuedFrame>;

/// First in, first out. Does not own its operations.
class SendQueue {
 public:
  bool empty() const { return first_ == nullptr; }
  QueuedFrame& front() { return *first_; }
  void push(QueuedFrame& operation);
  void pop();
  /// The bytes to send next as at most `out.size()` pieces, leaving out `skip` bytes of the front
  /// frame and stopping before an operation of another service level than the front's. At most
  /// `limit` operations. Returns the number of pieces; `bytes` is their sum.
  std::size_t gather(std::span<iovec> out, std::size_t skip, std::size_t limit,
                     std::size_t& bytes) const;
  /// Copies messages that are still borrowed.
  void own_messages();

 private:
  QueuedFrame* first_ = nullptr;
  QueuedFrame* last_ = nullptr;
  QueuedFrame* first_borrowed_ = nullptr;
};

}  // namespace weft::tcp
