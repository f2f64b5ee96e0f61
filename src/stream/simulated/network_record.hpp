// SPDX-License-Identifier: Apache-2.0
// What a recorder kept of a simulated network, as records have it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "report/network_record.hpp"
#include "sim/telemetry/recorder.hpp"

namespace weft::stream {

/// Hosts, switches and links, with levels and groups where the topology's builder knows them.
report::NetworkTopology network_topology(const sim::Recorder& recorder);
/// What happened, of a recorder that has finished. `users`: names by the number that
/// Network::add_user gave; of those without a name, or that received nothing, nothing is said.
report::NetworkRun network_run(const sim::Recorder& recorder, std::string name,
                               std::uint64_t trace_hash, std::span<const std::string> users);

}  // namespace weft::stream
