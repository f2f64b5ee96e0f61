// SPDX-License-Identifier: Apache-2.0
// weft odp diagnose --live: watches counters of this machine's adapters.
#pragma once

#include <cstdint>
#include <string>

#include "cli/commands.hpp"
#include "weft/time.hpp"

namespace weft::cli {

struct LiveOptions {
  Duration every = Duration::seconds(1);
  std::uint32_t samples = 0;  ///< then it ends; 0: when interrupted
  std::string root = "/";
  bool json = false;  ///< an object per line
};

/// A line for each sample of a device in which a counter changed, with the findings.
void watch_counters(const LiveOptions& options, Outcome& outcome);

}  // namespace weft::cli
