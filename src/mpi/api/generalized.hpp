// SPDX-License-Identifier: Apache-2.0
// Generalized requests: operations that the program itself does, and tells when they are done.
#pragma once

#include "mpi/api/library.hpp"

namespace weft::mpi {

/// The program's functions for one request.
struct Generalized {
  MPI_Grequest_query_function* query = nullptr;
  MPI_Grequest_free_function* free = nullptr;
  MPI_Grequest_cancel_function* cancel = nullptr;
  void* extra = nullptr;
  bool is_freed = false;  ///< by MPI_Request_free, before it was done
};

namespace detail {
Generalized* find_generalized(const Request& request);
}
/// Null: the request is another one.
inline Generalized* find_generalized(const Request& request) {
  return request.is_generalized ? detail::find_generalized(request) : nullptr;
}
/// Writes the status as the program's function gives it; its error.
int query_generalized(const Generalized& generalized, MPI_Status* status);
/// The request is over: the program frees its own part.
int end_generalized(const Request& request);

}  // namespace weft::mpi
