// SPDX-License-Identifier: Apache-2.0
// weft odp diagnose --live: watches counters of this machine's adapters.
#pragma once

#include <cstdint>
#include <string>

#include "cli/commands.hpp"
#include "weft/time.hpp"

namespace weft::cli {

struct LiveOptions {
  Duration every = Duration::seconds(1);  ///< between samples
  std::uint32_t samples = 0;              ///< ends after this many; 0: only when interrupted
  std::string root = "/";                 ///< where /sys is; elsewhere than "/": of another machine
  bool json = false;                      ///< an object per line
};

/// Prints a line for each sample of a device in which a counter changed, with the findings, until
/// the samples are taken or a signal comes. The outcome is `failed` after a finding. Errors: there
/// is no RDMA device.
void watch_counters(const LiveOptions& options, Outcome& outcome);

}  // namespace weft::cli
