// SPDX-License-Identifier: Apache-2.0
// The figures of workloads and traces, as a table.
#pragma once

#include <string>
#include <vector>

namespace weft::cli {

/// `jobs`: JSON objects as jobs::RanksJobs::to_json writes them. Prints nothing without any.
void print_ranks_jobs(const std::vector<std::string>& jobs);

}  // namespace weft::cli
