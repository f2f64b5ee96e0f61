// SPDX-License-Identifier: Apache-2.0
// Dynamic processes: worlds that MPI_Comm_spawn starts, and groups that connect through ports.
#pragma once

#include "mpi/api/library.hpp"

namespace weft::mpi {

/// Makes the intercommunicator to the parents in a spawned process; MPI_Init calls it. Does nothing
/// in a process without parents.
void meet_parents();
/// True when no communicator includes processes of other worlds: MPI_Finalize then waits for the
/// processes of this world only.
bool is_world_alone();

/// Sends a question to `weft run` and blocks until its answer arrives. Errors: the process has no
/// launcher, the launcher refuses, or the job has ended.
Result<LauncherAnswer> ask_launcher(const LauncherQuestion& question);

}  // namespace weft::mpi
