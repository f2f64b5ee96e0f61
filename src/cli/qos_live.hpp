// SPDX-License-Identifier: Apache-2.0
// weft qos --live: jobs as real processes in a testbed.
#pragma once

#include <string>

#include "cli/commands.hpp"
#include "qos/experiment.hpp"
#include "runtime/stop_signals.hpp"

namespace weft::cli {

/// Prints the result, as JSON or as tables; with `out`, a directory that is there, writes qos.json
/// and qos.html into it.
void run_qos_live(const qos::ExperimentOptions& options, bool json, const std::string& out,
                  const StopSignals& signals, Outcome& outcome);

}  // namespace weft::cli
