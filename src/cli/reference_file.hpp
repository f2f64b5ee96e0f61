// SPDX-License-Identifier: Apache-2.0
// Published figures in TOML (docs/report.md).
#pragma once

#include <string>
#include <vector>

#include "report/published.hpp"
#include "weft/result.hpp"

namespace weft::cli {

/// Reads a file of [[reference]] tables, at most 10,000 of them in 1 MiB. Errors read "FILE:LINE:
/// what is wrong": an unreadable or malformed file, unknown keys and metrics, values of the wrong
/// kind.
Result<std::vector<report::Reference>> read_references(const std::string& path);

}  // namespace weft::cli
