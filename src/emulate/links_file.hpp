// SPDX-License-Identifier: Apache-2.0
// Files of links: the path between each pair of ranks.
#pragma once

#include <string>

#include "emulate/control/control_block.hpp"
#include "weft/result.hpp"

namespace weft::emulate {

/// Fills the block's paths from a TOML file: matrices `latency` and `bandwidth` (row: from, column:
/// to), or a `topology` of the simulator with one latency and bandwidth for each of its cables,
/// where rank r is host r and all messages that pass a cable share it. Errors (invalid_argument,
/// not_found) begin with the file's name.
Result<void> load_links(const std::string& file, ControlBlock& block);

}  // namespace weft::emulate
