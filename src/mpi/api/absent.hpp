// SPDX-License-Identifier: Apache-2.0
// The end of a job that calls a function of MPI that weft does not have yet.
#pragma once

namespace weft::mpi {

/// Ends the job with one line that names the function.
[[noreturn]] void absent(const char* function);

}  // namespace weft::mpi
