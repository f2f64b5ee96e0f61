// SPDX-License-Identifier: Apache-2.0
// NetworkFaults: what faults do to the cables of a simulated network.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "sim/run/world.hpp"
#include "testbed/fault.hpp"
#include "weft/result.hpp"

namespace weft::sim {

/// Cables by name. Who knows hosts adds the rest. The world outlives it.
class NetworkFaults : public testbed::FaultTarget {
 public:
  explicit NetworkFaults(World& world) : world_(world) {}
  Result<void> set_cable_up(std::string_view cable, bool up) override;
  Result<void> set_cable_loss(std::string_view cable, std::uint32_t parts_per_million) override;
  Result<void> set_cable_rate(std::string_view cable, Bandwidth rate) override;

 protected:
  World& world() { return world_; }
  const World& world() const { return world_; }

 private:
  World& world_;
};

/// Whether a network has what the fault happens to, and declares lossy what loses packets. Node n
/// of faults is on host `hosts[n]`. Errors begin with the fault, and say what to write.
Result<void> check_fault(World& world, const testbed::Fault& fault,
                         std::span<const std::uint32_t> hosts);

}  // namespace weft::sim
