// SPDX-License-Identifier: Apache-2.0
// NetworkFaults: what faults do to the links of a simulated network.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "sim/engine/agent.hpp"
#include "sim/run/world.hpp"
#include "stream/node/node_report.hpp"
#include "testbed/fault.hpp"
#include "weft/result.hpp"

namespace weft::stream {

/// Cables by name. Who knows hosts adds the rest. The world outlives it.
class NetworkFaults : public testbed::FaultTarget {
 public:
  explicit NetworkFaults(sim::World& world) : world_(world) {}
  Result<void> set_cable_up(std::string_view cable, bool up) override;
  Result<void> set_cable_loss(std::string_view cable, std::uint32_t parts_per_million) override;
  Result<void> set_cable_rate(std::string_view cable, Bandwidth rate) override;

 protected:
  sim::World& world() { return world_; }
  const sim::World& world() const { return world_; }

 private:
  sim::World& world_;
};

/// Carries out faults of the network's own hosts and cables, from the simulation's beginning on.
class NetworkFaultPlayer final : private NetworkFaults, private sim::Agent {
 public:
  NetworkFaultPlayer(sim::World& world, std::vector<testbed::Fault> faults);
  const std::vector<FaultPlayed>& played() const { return played_; }

 private:
  void on_timer(std::uint16_t detail, std::uint64_t payload) override;
  void set_timer();
  Result<void> set_link_up(std::uint32_t host, bool up) override;
  Result<void> set_rate(std::uint32_t host, Bandwidth rate) override;
  Result<void> set_loss(std::uint32_t host, std::uint32_t parts_per_million) override;

  testbed::FaultPlayer player_;
  std::uint32_t agent_;
  std::vector<FaultPlayed> played_;
};

/// Whether a network has what the fault happens to, and declares lossy what loses packets. Node n
/// of faults is on host `hosts[n]`. Errors begin with the fault, and say what to write.
Result<void> check_fault(sim::World& world, const testbed::Fault& fault,
                         std::span<const std::uint32_t> hosts);

}  // namespace weft::stream
