// SPDX-License-Identifier: Apache-2.0
// NetworkFaults: the effects of faults on the cables of a simulated network, those of its hosts
// among them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "faults/fault.hpp"
#include "sim/run/world.hpp"
#include "weft/result.hpp"

namespace weft::sim {

/// Applies the faults of cables and hosts; faults of processes are the caller's task. The world
/// must outlive it.
class NetworkFaults : public faults::FaultTarget {
 public:
  /// Host n of faults is the network's `hosts[n]`; several may be the same.
  NetworkFaults(World& world, std::vector<std::uint32_t> hosts)
      : world_(world), hosts_(std::move(hosts)) {}
  Result<void> set_link_up(std::uint32_t host, bool up) override;
  Result<void> set_rate(std::uint32_t host, Bandwidth rate) override;
  Result<void> set_loss(std::uint32_t host, std::uint32_t parts_per_million) override;
  Result<void> set_cable_up(std::string_view cable, bool up) override;
  Result<void> set_cable_loss(std::string_view cable, std::uint32_t parts_per_million) override;
  Result<void> set_cable_rate(std::string_view cable, Bandwidth rate) override;

 protected:
  World& world() { return world_; }
  const World& world() const { return world_; }
  const std::vector<std::uint32_t>& hosts() const { return hosts_; }

 private:
  World& world_;
  std::vector<std::uint32_t> hosts_;
};

/// Checks whether a network has what the fault happens to, and declares lossy what loses packets.
/// Node n of faults is on host `hosts[n]`. Errors begin with the fault, and say what to write.
Result<void> check_fault(World& world, const faults::Fault& fault,
                         std::span<const std::uint32_t> hosts);

}  // namespace weft::sim
