// SPDX-License-Identifier: Apache-2.0
// Processes that are started, and groups that meet, while the job runs.
#pragma once

#include "mpi/api/library.hpp"

namespace weft::mpi {

/// At the beginning of a process that others had started: makes the communicator to them.
void meet_parents();
/// No communicator has processes of other worlds any more: this world may leave by itself.
bool is_world_alone();

/// Asks the launcher and waits for its answer. Errors: none is there; it refuses; the job is over.
Result<LauncherAnswer> ask_launcher(const LauncherQuestion& question);

}  // namespace weft::mpi
