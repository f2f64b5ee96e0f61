// SPDX-License-Identifier: Apache-2.0
// The outcome of `weft sweep` as its page, and as text.
#pragma once

#include <string>

#include "emulate/sweep/sweep.hpp"
#include "report/sweep_page.hpp"

namespace weft::cli {

/// The outcome has an analysis, and must outlive the record: its model is asked for.
report::SweepRecord record_of(const emulate::SweepOutcome& outcome, const std::string& command);

/// On standard output.
void print_sweep(const emulate::SweepOutcome& outcome);

}  // namespace weft::cli
