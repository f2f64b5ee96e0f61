// SPDX-License-Identifier: Apache-2.0
// `--twin`: the runs of a testbed, and the same runs in its simulated counterpart.
#pragma once

#include <span>

#include "cli/stream_settings.hpp"
#include "report/run_record.hpp"
#include "weft/result.hpp"

namespace weft::cli {

/// Checks whether the settings allow a twin. Errors name the option that is missing.
Result<void> check_twin(const StreamSettings& settings);
/// Runs the job of `settings` in the simulated counterpart of their testbed.
Result<report::RunRecord> run_twin(const StreamSettings& settings);
/// Real and simulated runs side by side, with the differences of the simulated ones. As many of
/// each.
void print_twins(std::span<const report::RunRecord> real,
                 std::span<const report::RunRecord> simulated);

}  // namespace weft::cli
