// SPDX-License-Identifier: Apache-2.0
// NetworkFaultPlayer: faults that happen to a simulated network and to no job in it.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/agent.hpp"
#include "sim/faults/network_faults.hpp"
#include "stream/node/node_report.hpp"

namespace weft::stream {

/// Carries out faults of the network's own hosts and cables, from the simulation's beginning on.
class NetworkFaultPlayer final : private sim::NetworkFaults, private sim::Agent {
 public:
  NetworkFaultPlayer(sim::World& world, std::vector<faults::Fault> faults);
  const std::vector<FaultPlayed>& played() const { return played_; }

 private:
  void on_timer(std::uint16_t detail, std::uint64_t payload) override;
  void set_timer();

  faults::FaultPlayer player_;
  std::uint32_t agent_;
  std::vector<FaultPlayed> played_;
};

}  // namespace weft::stream
