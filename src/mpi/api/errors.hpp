// SPDX-License-Identifier: Apache-2.0
// Error handlers and the program's own errors.
#pragma once

#include "mpi/api/library.hpp"

namespace weft::mpi {

/// Returns the largest error code in use, counting the classes and codes that the program added.
int last_used_code();
/// Removes a class or a code that the program added, for a function of that name, and returns MPI's
/// error code. A class that has codes stays, which is an error.
int remove_error(const char* function, int error, bool is_class);
int remove_error_string(const char* function, int error);
/// Finds the program's error handler of that handle. Returns null for a predefined handler. A
/// handle that names none raises an error on MPI_COMM_WORLD; if that returns, so does this: null,
/// with `error` set.
std::shared_ptr<ErrorHandler> find_handler(const Call& call, MPI_Errhandler handle, int& error);
/// Returns the handle of a communicator's, window's or file's error handler, which stays valid
/// until the program has freed it as often as it got it. When `handler` is null, returns the
/// predefined one.
MPI_Errhandler handler_handle(const std::shared_ptr<ErrorHandler>& handler,
                              MPI_Errhandler predefined);
/// Stores the handler, and its handle at `place`, which may not be null. The program frees it by
/// MPI_Errhandler_free. Returns MPI's error code.
int keep_handler(const Call& call, ErrorHandler handler, MPI_Errhandler* place);

/// Attaches the error handler to a communicator, file or session. Returns MPI_SUCCESS, or the error
/// of a handle that names no error handler, or one made for another `kind` of objects.
template <class Object, class Function>
int set_handler(const Call& call, Object& object, MPI_Errhandler handler,
                Function* ErrorHandler::*kind) {
  int error = MPI_SUCCESS;
  auto found = find_handler(call, handler, error);
  if (error != MPI_SUCCESS) return error;
  if (found != nullptr && (*found).*kind == nullptr) {
    return call.fail(&library().world, MPI_ERR_ARG,
                     "the error handler was made for another kind of objects");
  }
  object.handler = std::move(found);
  if (object.handler == nullptr) object.predefined = handler;
  return MPI_SUCCESS;
}

/// Stores the handle of the object's error handler at `place`, which may not be null.
template <class Object>
int get_handler(const Call& call, const Object& object, MPI_Errhandler* place) {
  if (const int error = call.check_results(place)) return error;
  *place = handler_handle(object.handler, object.predefined);
  return MPI_SUCCESS;
}

}  // namespace weft::mpi
