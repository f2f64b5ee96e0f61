// SPDX-License-Identifier: Apache-2.0
// Runs scenarios without a job: their traffic alone, for a time, with the network's faults.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/partition/exchange.hpp"
#include "sim/record/network_record.hpp"
#include "sim/run/progress.hpp"
#include "sim/run/stoppable.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/traffic/traffic.hpp"
#include "weft/result.hpp"

namespace weft::sim {

/// The figures of one entry of [[traffic]], or of all together.
struct TrafficFigures {
  TrafficPattern pattern{};  ///< of a single entry
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
  std::vector<TrafficFigures> traffic;  ///< in the scenario's order
  TrafficFigures all;
  std::uint64_t packet_hops = 0;
  std::uint64_t events = 0;
  std::uint64_t memory_bytes = 0;  ///< of all processes, at most
  std::uint64_t trace_hash = 0;
  Duration simulated{};
};

/// Sends for the scenario's duration, then lets packets arrive. Faults name hosts of the network.
/// Errors: those of the scenario; no traffic at all; faults other than of links.
Result<TrafficOutcome> run_traffic(const Scenario& scenario);
/// Divides the simulation among the ranks of `exchange`; each returns the outcome of the whole.
/// `network` records the network's activity, if it is given and there is one rank. Once `wants_end`
/// says so, the error has the code cancelled and tells how far the simulation came.
Result<TrafficOutcome> run_traffic(const Scenario& scenario, Exchange& exchange,
                                   NetworkRecording* network = nullptr,
                                   const Progress& progress = {}, WantsEnd wants_end = {});

}  // namespace weft::sim
