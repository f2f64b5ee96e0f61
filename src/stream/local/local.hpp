// SPDX-License-Identifier: Apache-2.0
// Jobs whose nodes are all processes of this machine, or with a fabric "sim:SCENARIO" all in one
// simulation: `weft stream local`, `compare` and `limit`.
#pragma once

#include <cstddef>

#include "report/run_record.hpp"
#include "sim/record/network_record.hpp"
#include "weft/result.hpp"
#include "weft/stream.hpp"

namespace weft::stream {

/// Runs a job to its end and returns its report. Forks: call it from a process without threads.
/// SIGINT or SIGTERM ends the stream in agreement, and the record says so; a second one ends it at
/// once, and its sinks leave nothing half-written. A simulation does not fork, calls sinks in its
/// loop, and takes the options' seed for the scenario's. Errors: a wrong option, a node that could
/// not start, all nodes of a kind lost. In a simulation `network` records the network's activity,
/// if it is given.
Result<report::RunRecord> run_local(const StreamOptions& options, const LocalOptions& local,
                                    sim::NetworkRecording* network = nullptr);

/// Runs a job of a testbed (`local.testbed`, with a rate) in the simulated counterpart of that, in
/// which nothing is dropped. Faults happen there too.
Result<report::RunRecord> run_twin(const StreamOptions& options, const LocalOptions& local);

/// Bare writes on the same processes and links: everybody to everybody, and the limit, each for
/// half of `local.limit_duration`. Errors: as run_local; cancelled when a signal ends it.
Result<report::LimitRow> run_limit(const StreamOptions& options, const LocalOptions& local,
                                   std::size_t message_bytes, bool mix);

}  // namespace weft::stream
