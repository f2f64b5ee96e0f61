// SPDX-License-Identifier: Apache-2.0
// Ranges of seeds on the command line.
#pragma once

#include <cstdint>
#include <string>

#include "weft/result.hpp"

namespace weft::cli {

struct Seeds {
  std::uint64_t first = 1;
  std::uint64_t last = 200;
};

/// "A..B", or one number.
Result<Seeds> parse_seeds(const std::string& text);

}  // namespace weft::cli
