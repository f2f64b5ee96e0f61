// SPDX-License-Identifier: Apache-2.0
// One kind of synthetic traffic on one network, for `weft simulate uniform` and bench/simulate.
#pragma once

#include <cstdint>
#include <string>

#include "sim/network/options.hpp"
#include "sim/partition/exchange.hpp"
#include "sim/run/progress.hpp"
#include "sim/telemetry/recorder.hpp"
#include "sim/traffic/traffic.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft::sim {

struct UniformOptions {
  std::string topology = "fat-tree:64";
  std::string router;  ///< empty: the topology's default
  NetworkOptions network;
  TrafficPattern pattern = TrafficPattern::uniform;
  double load = 0.7;
  std::uint64_t packet_bytes = 4096;  ///< messages of one packet each; also the network's mtu
  PicoDuration duration = PicoDuration::milliseconds(1);  ///< of sending; then all drains
  std::uint64_t seed = 1;
};

struct UniformOutcome {
  std::uint32_t hosts = 0;
  std::uint32_t switches = 0;
  std::string router;
  std::uint64_t messages = 0;
  std::uint64_t delivered = 0;
  std::uint64_t packet_hops = 0;
  std::uint64_t events = 0;
  std::uint64_t memory_bytes = 0;  ///< of the whole process, at most
  std::uint64_t trace_hash = 0;
  double goodput_of_links = 0;  ///< bytes that arrived while sending lasted, of all host links
  double latency_median_ns = 0;
  double latency_p99_ns = 0;
};

/// Half the hosts' messages are of service level 0, half of level 1 when there are two or more.
/// Errors: those of the topology, router, network or traffic. Recording does not change the course
/// of the simulation.
Result<UniformOutcome> run_uniform(const UniformOptions& options, Recording* recording = nullptr);
/// Divided among ranks, all of which get the same outcome: that of the run as a whole, with the
/// memory of all processes. Nothing is recorded unless there is only one. Errors also: ranks have
/// read different topologies.
Result<UniformOutcome> run_uniform(const UniformOptions& options, Exchange& exchange,
                                   Recording* recording = nullptr, const Progress& progress = {});

}  // namespace weft::sim
