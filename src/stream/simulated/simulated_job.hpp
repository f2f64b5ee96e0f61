// SPDX-License-Identifier: Apache-2.0
// Jobs whose nodes are all in one simulation: `weft stream … --fabric sim:SCENARIO`.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"
#include "stream/node/node_report.hpp"
#include "stream/node/stream_node.hpp"
#include "testbed/fault.hpp"
#include "weft/result.hpp"
#include "weft/stream.hpp"

namespace weft::stream {

/// What the simulation itself did, besides the job's reports.
struct SimulationTrace {
  std::uint64_t trace_hash = 0;
  std::uint64_t events = 0;
  std::uint64_t packet_hops = 0;
  Duration simulated{};
  /// With SimulationOptions::settle: nothing was left in the network, and every buffer was whole.
  bool at_rest = false;
  /// Where each node stood, when the job did not end.
  std::vector<std::string> nodes;
};

/// What only those ask for who test jobs by simulating them.
struct SimulationOptions {
  std::vector<testbed::Fault> faults;  ///< besides those that scenario and command line name
  /// A job that has not ended so long after its planned end is given up.
  Duration patience = Duration::seconds(120);
  /// When the job is over, end background traffic and wait until the network is empty.
  bool settle = false;
};

/// Runs the job to its end and returns its nodes' reports. Faults, duration and progress are those
/// of `local`; node n of the job is host n for its faults. Single-threaded; the same scenario,
/// options and build give the same reports. Errors: what the scenario refuses; a node that cannot
/// be made; a job that does not end.
Result<std::vector<NodeReport>> run_simulated_job(const sim::Scenario& scenario,
                                                  const StreamOptions& options,
                                                  const LocalOptions& local,
                                                  const NodeFactory& factory,
                                                  SimulationTrace* trace = nullptr,
                                                  const SimulationOptions& simulation = {});

}  // namespace weft::stream
