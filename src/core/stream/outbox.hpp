// SPDX-License-Identifier: Apache-2.0
// The requests of stream machines: operations for the fabric, timeslices for the sink, and events
// for the recorder. The driver owns and empties it; capacities are fixed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/fixed_vec.hpp"
#include "core/schedule/schedule.hpp"
#include "core/transmit/transmit_queue.hpp"

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

struct Outbox : TransmitQueue {
  explicit Outbox(std::size_t operations = 1024, std::size_t message_bytes = 256 << 10)
      : TransmitQueue(operations, message_bytes),
        deliver(1024),
        built(1024),
        intervals(256),
        hang_up(64) {}

  FixedVec<Delivery> deliver;
  FixedVec<TimesliceBuilt> built;
  FixedVec<schedule::IntervalRecord> intervals;
  /// Peers whose connections the driver is to break and make anew: operations that are under way
  /// to them end that way.
  FixedVec<NodeId> hang_up;
};

}  // namespace weft::stream
