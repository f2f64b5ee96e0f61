// SPDX-License-Identifier: Apache-2.0
// The job of a scenario: its [job] has the names of the options of `weft stream`.
#pragma once

#include "cli/stream_settings.hpp"
#include "sim/scenario/scenario.hpp"
#include "weft/result.hpp"

namespace CLI {
class App;
}

namespace weft::cli {

/// Gives a job's values to those options of `command` that have none, and to `settings` its service
/// level and the scenario's entries for the record. `command` has the job's options, bound to
/// `settings`. Throws CLI::ParseError, one line with file and line number, when the job has a key
/// that is no option of a simulated one.
void apply_scenario(CLI::App& command, const sim::Scenario& scenario, const sim::ScenarioJob& job,
                    StreamSettings& settings);

/// If --fabric names a scenario, reads it and applies it; then completes the settings.
Result<void> resolve(CLI::App& command, StreamSettings& settings);

/// The complete settings of a job that only the scenario describes. Throws as apply_scenario.
StreamSettings job_of(const sim::Scenario& scenario, const sim::ScenarioJob& job);

}  // namespace weft::cli
