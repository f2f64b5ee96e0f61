// SPDX-License-Identifier: Apache-2.0
// Recorder: observes a network at work and keeps the data for reports: the load of links, the
// completion of messages, and, if there is a file for it, a trace of everything.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/network/network.hpp"
#include "sim/telemetry/flow_telemetry.hpp"
#include "sim/telemetry/link_telemetry.hpp"
#include "sim/telemetry/network_trace.hpp"

namespace weft::sim {

/// Not for networks that are divided among processes.
class Recorder final : public NetworkObserver {
 public:
  /// Begins to look on. The network and the trace, if there is one, outlive `finish`.
  Recorder(Network& network, std::string router, TraceFile* trace = nullptr);
  ~Recorder() override {
    if (network_ != nullptr) network_->set_observer(nullptr);
  }
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// Looks on no longer; everything is counted until `end`, or until the last thing happened if
  /// that is later. Once.
  void finish(PicoInstant end);

  const Topology& topology() const { return topology_; }
  const std::string& router() const { return router_; }
  /// As it was at the beginning.
  Bandwidth rate(LinkId link) const { return rates_[link.value()]; }
  const LinkTelemetry& links() const { return links_; }
  std::uint8_t levels() const { return levels_; }
  /// The link's counters for one service level during the recording. After finish().
  const LinkCounters& counters(LinkId link, std::uint8_t level) const {
    return counters_[std::size_t{link.value()} * levels_ + level];
  }
  const FlowTelemetry& flows() const { return flows_; }

  void on_queued(PicoInstant now, LinkId link, std::uint8_t level, std::uint64_t bytes) override;
  void on_transmit(LinkId link, const Packet& packet, const Message& message, std::uint64_t waited,
                   const net::Transit& transit) override;
  void on_delivered(PicoInstant now, const Message& message) override;

 private:
  Network* network_;
  Topology topology_;  // its own, for calls when the simulation is gone
  std::string router_;
  std::vector<Bandwidth> rates_;
  std::uint8_t levels_;
  std::vector<LinkCounters> counters_;  // by link and level; until finish() as at the beginning
  LinkTelemetry links_;
  FlowTelemetry flows_;
  std::optional<NetworkTrace> trace_;
};

}  // namespace weft::sim
