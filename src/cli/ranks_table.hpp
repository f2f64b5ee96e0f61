// SPDX-License-Identifier: Apache-2.0
// Prints the table of the jobs with simulated ranks: workloads and traces.
#pragma once

#include <string>
#include <vector>

namespace weft::cli {

/// Prints a table of the jobs to standard output, and nothing when there are none. Each string is a
/// JSON object that jobs::RanksJobs::to_json wrote.
void print_ranks_jobs(const std::vector<std::string>& jobs);

}  // namespace weft::cli
