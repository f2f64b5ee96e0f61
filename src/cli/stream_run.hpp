// SPDX-License-Identifier: Apache-2.0
// What commands that run a whole job do with its record.
#pragma once

#include <vector>

#include "cli/stream_settings.hpp"
#include "report/run_record.hpp"
#include "weft/result.hpp"

namespace weft::cli {

/// Measures the limit, unless the settings say not to, and holds the runs against it.
Result<void> measure_limit(const StreamSettings& settings, std::vector<report::RunRecord>& runs);
/// Adds parameters, machine and command to the record of a run.
void describe(const StreamSettings& settings, report::RunRecord& record);
/// Whether nothing is wrong with what a run delivered.
bool is_sound(const report::RunRecord& record);

}  // namespace weft::cli
