// SPDX-License-Identifier: Apache-2.0
// Jobs whose nodes are all in one simulation: `weft stream … --fabric sim:SCENARIO`.
#pragma once

#include <vector>

#include "sim/scenario/scenario.hpp"
#include "stream/node/node_report.hpp"
#include "stream/node/stream_node.hpp"
#include "weft/result.hpp"
#include "weft/stream.hpp"

namespace weft::stream {

/// What the simulation itself did, besides the job's reports.
struct SimulationTrace {
  std::uint64_t trace_hash = 0;
  std::uint64_t events = 0;
  std::uint64_t packet_hops = 0;
  Duration simulated{};
};

/// Runs the job to its end and returns its nodes' reports. Faults, duration and progress are those
/// of `local`; node n of the job is host n for its faults. Single-threaded; the same scenario,
/// options and build give the same reports. Errors: what the scenario refuses; a node that cannot
/// be made; a job that does not end.
Result<std::vector<NodeReport>> run_simulated_job(const sim::Scenario& scenario,
                                                  const StreamOptions& options,
                                                  const LocalOptions& local,
                                                  const NodeFactory& factory,
                                                  SimulationTrace* trace = nullptr);

}  // namespace weft::stream
