// SPDX-License-Identifier: Apache-2.0
// NetworkFaultPlayer: faults that happen to a simulated network and to no job in it.
#pragma once

#include <cstdint>
#include <vector>

#include "faults/fault.hpp"
#include "sim/engine/agent.hpp"
#include "sim/faults/network_faults.hpp"

namespace weft::sim {

/// Carries out faults of the network's own hosts and cables, from the simulation's beginning on.
class NetworkFaultPlayer final : private NetworkFaults, private Agent {
 public:
  NetworkFaultPlayer(World& world, std::vector<faults::Fault> faults);
  /// The first 5,000, in the order in which they happened, on the simulation's clock.
  const std::vector<faults::FaultPlayed>& played() const { return played_; }

 private:
  void on_timer(std::uint16_t detail, std::uint64_t payload) override;
  void set_timer();

  faults::FaultPlayer player_;
  std::uint32_t agent_;
  std::vector<faults::FaultPlayed> played_;
};

}  // namespace weft::sim
