// SPDX-License-Identifier: Apache-2.0
// Calls of functions of MPI that weft does not have yet.
#pragma once

namespace weft::mpi {

/// Ends the job with one line that names the function. Where MPI_COMM_WORLD returns errors:
/// MPI_ERR_UNSUPPORTED_OPERATION, and nothing is written.
int absent(const char* function);

}  // namespace weft::mpi
