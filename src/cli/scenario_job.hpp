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
/// level and what a record says of the scenario. `command` has the job's options, bound to
/// `settings`. Throws CLI::ParseError, one line with file and line number, when the job has what is
/// no option of a simulated one.
void apply_scenario(CLI::App& command, const sim::Scenario& scenario, const sim::ScenarioJob& job,
                    StreamSettings& settings);

/// If --fabric names a scenario, reads it and applies it; then completes the settings.
Result<void> resolve(CLI::App& command, StreamSettings& settings);

/// What a job is like of which only the scenario tells, complete. Throws as apply_scenario.
StreamSettings job_of(const sim::Scenario& scenario, const sim::ScenarioJob& job);

}  // namespace weft::cli
