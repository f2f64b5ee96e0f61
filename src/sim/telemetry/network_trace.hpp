// SPDX-License-Identifier: Apache-2.0
// NetworkTrace: a network's activity as events of a trace: each link's packets, each host's
// messages, and the queue of each link.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "net/link_model.hpp"
#include "sim/network/packet.hpp"
#include "sim/telemetry/trace_file.hpp"
#include "sim/topology/topology.hpp"

namespace weft::sim {

/// Numbers of the trace's processes.
enum class TraceProcess : std::uint32_t { hosts = 1, links = 2, queues = 3, nodes = 4 };

/// Topology and file outlive it. Its functions are those of NetworkObserver.
class NetworkTrace {
 public:
  NetworkTrace(const Topology& topology, TraceFile& file);

  void queued(PicoInstant now, LinkId link, std::uint64_t bytes);
  void transmitted(LinkId link, const Packet& packet, const Message& message, std::uint64_t waited,
                   const net::Transit& transit);
  void delivered(PicoInstant now, const Message& message);
  /// Tells how the queues end. Once, last.
  void finish();

 private:
  struct Queue {
    std::uint64_t bytes = 0;
    std::uint64_t told = 0;
    PicoInstant since{};
    bool named = false;  // the link's track has its name
  };

  void settle(PicoInstant now, LinkId link);
  void tell(PicoInstant now, LinkId link);
  std::string label(LinkId link) const;

  const Topology& topology_;
  TraceFile& file_;
  std::vector<Queue> queues_;  // by link
  std::vector<bool> host_named_;
};

}  // namespace weft::sim
