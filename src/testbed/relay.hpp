// SPDX-License-Identifier: Apache-2.0
// The latency between two linked hosts: a process takes the packets of each and hands them to the
// other one when they are due. For kernels without netem, and more exact than it.
#pragma once

#include <atomic>
#include <cstdint>

#include "weft/time.hpp"

namespace weft::testbed {

/// Packets and bytes that a relay passed on, by the host that sent them. In memory that the relay
/// and its maker share.
struct RelayCounters {
  std::atomic<std::uint64_t> packets[2] = {};
  std::atomic<std::uint64_t> bytes[2] = {};
};

/// Passes packets between two network devices (TUN, without a header of its own; must not block),
/// each `latency` after it was seen. Loses none. Never returns; ends with its process.
[[noreturn]] void relay(int first, int second, Duration latency, RelayCounters& counters);

}  // namespace weft::testbed
