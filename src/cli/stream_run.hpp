// SPDX-License-Identifier: Apache-2.0
// The handling of a job's record by commands that run a whole job.
#pragma once

#include <cstddef>
#include <vector>

#include "cli/stream_settings.hpp"
#include "report/run_record.hpp"
#include "weft/result.hpp"

namespace weft::cli {

/// Typical bytes of a contribution, for the limit that a run is held against.
std::size_t contribution_bytes(const report::RunRecord& record);
/// Measures the limit, unless the settings say not to or a signal has come, and holds the runs
/// against it and against published figures.
Result<void> measure_limit(const StreamSettings& settings, std::vector<report::RunRecord>& runs);
/// Adds parameters, machine and command to the record of a run.
void describe(const StreamSettings& settings, report::RunRecord& record);
/// Returns whether a run delivered everything without errors.
bool is_sound(const report::RunRecord& record);

}  // namespace weft::cli
