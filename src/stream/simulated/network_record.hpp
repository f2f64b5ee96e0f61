// SPDX-License-Identifier: Apache-2.0
// What a recorder kept of a simulated network, as records have it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "report/network_record.hpp"
#include "sim/telemetry/recorder.hpp"
#include "sim/traffic/traffic.hpp"

namespace weft::stream {

/// What a run is asked to record, and what it recorded.
struct NetworkRecording {
  sim::TraceFile* trace = nullptr;   ///< in: everything goes there as well; may be null
  report::NetworkTopology topology;  ///< out
  report::NetworkRun run;            ///< out; its name is the caller's
};

/// Hosts, switches and links, with levels and groups where the topology's builder knows them.
report::NetworkTopology network_topology(const sim::Recorder& recorder);
/// What happened, of a recorder that has finished. `users`: names by the number that
/// Network::add_user gave; of those without a name, or that received nothing, nothing is said.
report::NetworkRun network_run(const sim::Recorder& recorder, std::uint64_t trace_hash,
                               std::span<const std::string> users);
/// Names of traffics: "uniform", with numbers where there are several of a pattern.
std::vector<std::string> names_of(std::span<const sim::TrafficPattern> patterns);

}  // namespace weft::stream
