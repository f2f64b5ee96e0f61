// SPDX-License-Identifier: Apache-2.0
// TransmitQueue: the operations that a machine wants to post, with the bytes of its messages. The
// driver owns and empties it; capacities are fixed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>

#include "base/check.hpp"
#include "base/fixed_vec.hpp"
#include "weft/fabric.hpp"
#include "wire/codec.hpp"

namespace weft {

struct TransmitQueue {
  explicit TransmitQueue(std::size_t operations = 1024, std::size_t message_bytes = 256 << 10)
      : tx(operations), message_bytes_(message_bytes) {}

  FixedVec<TxOp> tx;

  /// Returns whether `operations` more, messages of `bytes` together among them, fit.
  bool has_room(std::size_t operations, std::size_t bytes) const {
    return most_ >= tx.size() + operations && tx.room() >= operations &&
           message_bytes_.room() >= bytes;
  }
  /// Until `end_limit`, only so many more have room.
  void limit(std::size_t operations) {
    most_ = tx.size() + std::min(operations, unlimited - tx.size());
  }
  void end_limit() { most_ = unlimited; }
  /// Appends a message to `peer` of the bytes that `encode(wire::Writer&)` writes, at most `bound`,
  /// and of `body` behind them, which stays valid until the fabric took the operation.
  template <class Encode>
  void send(NodeId peer, ServiceLevel level, std::size_t bound, Encode&& encode,
            std::span<const std::byte> body = {}) {
    const std::size_t start = message_bytes_.size();
    std::span<std::byte> room(message_bytes_.begin() + start, bound);
    WEFT_CHECK(message_bytes_.room() >= bound, "no room for a message of {} bytes", bound);
    wire::Writer writer(room);
    encode(writer);
    message_bytes_.extend(writer.size());
    TxOp op;
    op.kind = OpKind::send;
    op.service_level = level;
    op.peer = peer;
    op.segments = {room.first(writer.size()), body};
    tx.push_back(op);
  }
  /// The fabric took the first `n` operations. Message bytes are reused when all are gone.
  void posted(std::size_t n) {
    tx.drop_front(n);
    if (tx.empty()) message_bytes_.clear();
  }
  /// Forgets operations for that peer, and calls `on_dropped(const TxOp&)` for each.
  template <class OnDropped>
  void drop(NodeId peer, OnDropped&& on_dropped) {
    std::size_t kept = 0;
    for (const TxOp& op : tx) {
      if (op.peer == peer) {
        on_dropped(op);
      } else {
        tx[kept++] = op;
      }
    }
    tx.drop_back(tx.size() - kept);
    if (tx.empty()) message_bytes_.clear();
  }

 private:
  static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

  FixedVec<std::byte> message_bytes_;
  std::size_t most_ = unlimited;
};

}  // namespace weft
