// SPDX-License-Identifier: Apache-2.0
// Error handlers and the program's own errors.
#pragma once

#include "mpi/api/library.hpp"

namespace weft::mpi {

/// The largest code of an error, of MPI's or of the program's.
int last_used_code();
/// Makes it the communicator's.
int set_handler(const Call& call, Communicator& communicator, MPI_Errhandler handler);
/// The program's own; null: a predefined one, or none. `error` is set when there is none.
std::shared_ptr<ErrorHandler> find_handler(const Call& call, MPI_Errhandler handle, int& error);
/// Its handle, for one that was found so.
MPI_Errhandler handler_handle(const std::shared_ptr<ErrorHandler>& handler, bool returns_errors);
/// Its handle is the program's to free.
MPI_Errhandler keep_handler(ErrorHandler handler);

}  // namespace weft::mpi
