// SPDX-License-Identifier: Apache-2.0
// Scenarios without a job: their traffic alone, for a time, with the network's faults.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/partition/exchange.hpp"
#include "sim/run/progress.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/traffic/traffic.hpp"
#include "stream/simulated/network_record.hpp"
#include "weft/result.hpp"

namespace weft::stream {

/// One of the scenario's traffics.
struct TrafficFigures {
  sim::TrafficPattern pattern{};
  std::uint64_t messages = 0;
  std::uint64_t delivered = 0;
  std::uint64_t bytes = 0;         ///< of delivered messages
  double goodput_bytes_per_s = 0;  ///< while sending lasted
  double latency_median_ns = 0;
  double latency_p99_ns = 0;
};

struct TrafficOutcome {
  std::uint32_t hosts = 0;
  std::uint32_t switches = 0;
  std::string router;
  std::vector<TrafficFigures> traffic;
  std::uint64_t packet_hops = 0;
  std::uint64_t events = 0;
  std::uint64_t trace_hash = 0;
  Duration simulated{};
};

/// Sends for the scenario's duration, then lets packets arrive. Hosts of faults are hosts of the
/// network. Errors: those of the scenario; no traffic at all; faults other than of links.
Result<TrafficOutcome> run_simulated_traffic(const sim::Scenario& scenario);
/// Divided among ranks, all of which get the same outcome: that of the whole. `network` records the
/// network's activity, if it is given and there is one rank.
Result<TrafficOutcome> run_simulated_traffic(const sim::Scenario& scenario, sim::Exchange& exchange,
                                             NetworkRecording* network = nullptr,
                                             const sim::Progress& progress = {});

}  // namespace weft::stream
