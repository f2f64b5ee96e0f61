// SPDX-License-Identifier: Apache-2.0
// How long a process is in its job: for MPI_Init, and for sessions.
#pragma once

namespace weft::mpi {

/// Joins the job, if this process has not. A process that had a session leaves its job when it
/// exits.
void begin_session(const char* function);
void end_session();

}  // namespace weft::mpi
