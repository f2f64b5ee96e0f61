// SPDX-License-Identifier: Apache-2.0
// What becomes of a call of a function that is not there yet.
#pragma once

namespace weft::mpi {

/// Ends the job with one line that names the function.
[[noreturn]] void absent(const char* function);

}  // namespace weft::mpi
