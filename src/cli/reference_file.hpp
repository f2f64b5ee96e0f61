// SPDX-License-Identifier: Apache-2.0
// Reads a TOML file of published figures, which reports show beside measured ones (docs/report.md).
#pragma once

#include <string>
#include <vector>

#include "report/published.hpp"
#include "weft/result.hpp"

namespace weft::cli {

/// Reads a file of at most 10,000 [[reference]] tables and 1 MiB. Errors read "FILE:LINE: …" and
/// report an unreadable or malformed file, unknown keys and metrics, and values of the wrong kind.
Result<std::vector<report::Reference>> read_references(const std::string& path);

}  // namespace weft::cli
