// SPDX-License-Identifier: Apache-2.0
// What stream machines want done: operations for the fabric, timeslices for the sink, and events
// for the recorder. Owned and emptied by the driver; capacities are fixed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/fixed_vec.hpp"
#include "core/schedule/schedule.hpp"
#include "weft/fabric.hpp"
#include "wire/codec.hpp"

namespace weft::stream {

/// A timeslice that is complete, or given up and flagged. It stays in place until the compute
/// machine is told `release`.
struct Delivery {
  TimesliceIndex timeslice{};
};

/// For reports: one timeslice was built (paper 1, Fig. 6).
struct TimesliceBuilt {
  TimesliceIndex timeslice{};
  Instant completed{};
  Duration spread{};  ///< first to last contribution
  std::uint32_t flags = 0;
};

struct Outbox {
  explicit Outbox(std::size_t operations = 1024, std::size_t message_bytes = 256 << 10)
      : tx(operations), deliver(1024), built(1024), intervals(256), message_bytes_(message_bytes) {}

  FixedVec<TxOp> tx;
  FixedVec<Delivery> deliver;
  FixedVec<TimesliceBuilt> built;
  FixedVec<schedule::IntervalRecord> intervals;

  /// Whether `operations` more, messages of `bytes` together among them, fit.
  bool has_room(std::size_t operations, std::size_t bytes) const {
    return tx.room() >= operations && message_bytes_.room() >= bytes;
  }
  /// Appends a message to `peer` of the bytes that `encode(wire::Writer&)` writes, at most `bound`.
  template <class Encode>
  void send(NodeId peer, ServiceLevel level, std::size_t bound, Encode&& encode) {
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
    op.segments[0] = room.first(writer.size());
    tx.push_back(op);
  }
  /// The fabric took the first `n` operations. Message bytes are reused when all are gone.
  void posted(std::size_t n) {
    tx.drop_front(n);
    if (tx.empty()) message_bytes_.clear();
  }

 private:
  FixedVec<std::byte> message_bytes_;
};

}  // namespace weft::stream
