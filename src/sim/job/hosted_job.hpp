// SPDX-License-Identifier: Apache-2.0
// HostedJob: a job whose processes are on hosts of a simulated network: its fabric, the places of
// its processes, and the effects of faults that are the same for every job.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sim/engine/agent.hpp"
#include "sim/fabric/sim_hub.hpp"
#include "sim/faults/network_faults.hpp"
#include "sim/job/hosted_process.hpp"
#include "sim/run/world.hpp"

namespace weft::sim {

/// Hosts of faults are its nodes. The world outlives it. A job has to override kill and restart,
/// which handle deaths.
class HostedJob : public NetworkFaults {
 public:
  /// Node n runs on host `hosts[n]`; several may share one. A peer that is away for longer than
  /// `peer_timeout` is reported down.
  HostedJob(World& world, std::vector<std::uint32_t> hosts, Duration peer_timeout);

  /// The counters of its adapters; none without fabric.reliable.
  std::optional<RcCounters> rc_counters() const;
  /// Told of its packets at that host's port, if it has reliable connections.
  void tap_packets(std::uint32_t host, std::function<void(const RcTapped&)> tap);

  Result<void> stop(std::uint32_t node) override;
  Result<void> resume(std::uint32_t node) override;
  Result<void> set_link_up(std::uint32_t node, bool up) override;
  Result<void> jump_clock(std::uint32_t node, Duration by) override;
  Result<void> set_partition(const std::vector<std::vector<std::uint32_t>>& groups) override;

 protected:
  SimHub& hub() { return hub_; }
  const SimHub& hub() const { return hub_; }
  PicoInstant now() const { return hub_.now(); }
  Instant now_ns() const { return Instant(now().ticks() / 1'000); }
  /// With the clock and the noise that the scenario's seed has for that node; `job` numbers the
  /// jobs of a simulation.
  ProcessPlace place_of(std::uint32_t node, std::uint32_t job);
  /// An error unless it lives.
  Result<void> check_alive(std::uint32_t node);

 private:
  virtual HostedProcess& process(std::uint32_t node) = 0;

  SimHub hub_;
};

}  // namespace weft::sim
