// SPDX-License-Identifier: Apache-2.0
// Orphans: processes that a rank started and that outlive it, such as the program of a script that
// was killed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/process_set.hpp"

namespace weft {

/// This process becomes the parent of its ranks' orphans. One object in a process.
class Orphans {
 public:
  Orphans();
  /// Kills those of the rank, or of all ranks, and waits for their ends. Processes of `ranks` are
  /// no orphans.
  void end(const ProcessSet& ranks, std::optional<std::uint32_t> rank) const;

 private:
  std::vector<pid_t> others_;  // children that this process had before
};

}  // namespace weft
