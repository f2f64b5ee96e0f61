// SPDX-License-Identifier: Apache-2.0
// A recorder's data of a simulated network, in the form of records.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "report/network_record.hpp"
#include "sim/telemetry/recorder.hpp"
#include "sim/traffic/traffic.hpp"

namespace weft::sim {

/// The wishes for a run's recording, and the result.
struct NetworkRecording {
  TraceFile* trace = nullptr;        ///< in: everything goes there as well; may be null
  report::NetworkTopology topology;  ///< out
  report::NetworkRun run;            ///< out; its name is the caller's
};

/// Hosts, switches and links, with levels and groups where the topology's builder knows them.
report::NetworkTopology network_topology(const Recorder& recorder);
/// The record of a recorder that has finished. `users`: names by the number that Network::add_user
/// gave; users without a name, or that received nothing, are left out.
report::NetworkRun network_run(const Recorder& recorder, std::uint64_t trace_hash,
                               std::span<const std::string> users);
/// Names of traffics: "uniform", with numbers where there are several of a pattern.
std::vector<std::string> names_of(std::span<const TrafficPattern> patterns);

}  // namespace weft::sim
