// SPDX-License-Identifier: Apache-2.0
// SimHub: fabric endpoints of one job on hosts of a simulated network. Operations become messages
// of the network; what the network delivers becomes completions. Keeps every promise of
// weft/fabric.hpp, with simulated time in place of the system's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "sim/engine/agent.hpp"
#include "sim/fabric/flight.hpp"
#include "sim/network/network.hpp"
#include "weft/fabric.hpp"

namespace weft::sim {

struct SimFabricOptions {
  std::size_t max_message = 64 * 1024;
  std::size_t max_write = std::size_t{1} << 32;
  std::size_t max_outstanding = 4096;  ///< per endpoint; also unread messages per pair
  /// What an operation adds to its bytes on the network, and a greeting consists of.
  std::uint32_t header_bytes = 32;
  /// Bytes of each write that are really copied, from its beginning. What a simulation costs in
  /// memory and time is mostly contents: where nobody looks at them, descriptions will do.
  std::size_t copied_bytes = ~std::size_t{0};
  PicoDuration acknowledgement = PicoDuration::microseconds(1);  ///< arrival to completion
  PicoDuration death_notice = PicoDuration::milliseconds(1);  ///< until peers see a killed endpoint
  /// A peer that cannot be reached for so long is reported down.
  PicoDuration peer_timeout = PicoDuration::seconds(10);
};

class SimEndpoint;

/// One thread drives engine, hub and endpoints. Network and agents outlive it; endpoints must not.
class SimHub final : public NetworkUser, public Agent {
 public:
  /// Node n of the job runs on host `hosts[n]`; several may share one.
  SimHub(const SimFabricOptions& options, std::vector<std::uint32_t> hosts, Network& network,
         Agents& agents);
  ~SimHub() override;

  /// An endpoint without peers. Destroying it is what a killed process is. `on_ready` is called,
  /// during events, whenever `poll` would yield something that it would not have before.
  std::unique_ptr<Fabric> open(NodeId self, Incarnation incarnation,
                               std::function<void()> on_ready);

  /// A node that does not run (stopped), or whose host has no link: reported down to its peers, and
  /// they to it, when it stays so for the peer timeout; connected again afterwards.
  void set_reachable(NodeId node, bool reachable);
  /// Nodes of different groups do not reach each other until the next call; nodes that are not
  /// named are a group of their own. What is on its way arrives.
  void set_partition(const std::vector<std::vector<std::uint32_t>>& groups);

  const SimFabricOptions& options() const { return options_; }
  PicoInstant now() const { return agents_.engine().now(); }
  /// The earliest instant at which anything at all happens in the simulation; for drivers in real
  /// time.
  PicoInstant next_event() { return agents_.engine().next_time(); }

  // For NetworkUser and Agent.
  void on_sent(const Message& message, PicoInstant departure) override;
  void on_arrived(const Message& message) override;
  void on_timer(std::uint16_t detail, std::uint64_t payload) override;

 private:
  friend class SimEndpoint;
  enum Timer : std::uint16_t { local_arrival, death, unreachable };

  SimEndpoint* find(std::uint64_t serial) const;
  bool blocked(NodeId a, NodeId b) const { return blocked_since(a, b) != PicoInstant::never(); }
  PicoInstant blocked_since(NodeId a, NodeId b) const;
  /// Blocked for the peer timeout.
  bool given_up(NodeId a, NodeId b) const;
  /// Whether it is in the network now; if not, its host's memory or a blockade has it.
  bool launch(std::uint32_t flight, std::uint8_t level);
  void arrive(std::uint32_t flight);
  void set_timer(NodeId node, PicoInstant at, Timer timer, std::uint64_t payload);
  void notify_death(const SimEndpoint& of, std::uint64_t peer_serial, std::uint64_t link);
  void relaunch_parked();

  SimFabricOptions options_;
  std::vector<std::uint32_t> hosts_;
  Network& network_;
  Agents& agents_;
  std::uint32_t agent_;
  std::uint16_t user_;
  std::uint64_t next_link_ = 1;
  std::vector<SimEndpoint*> endpoints_;  // by serial − 1; null when gone
  Pool<Flight> flights_;
  std::vector<std::pair<std::uint32_t, std::uint8_t>> parked_;  // blocked flights and their levels
  std::vector<std::uint32_t> group_;                            // by node; empty: no partition
  PicoInstant partitioned_since_{};
  std::vector<PicoInstant> unreachable_since_;  // by node; never: reachable
  struct Notice {
    std::uint64_t serial = 0;  // who is told
    NodeId about{};
    std::uint64_t link = 0;
    std::uint32_t next = kNone;
  };
  Pool<Notice> notices_;
};

}  // namespace weft::sim
