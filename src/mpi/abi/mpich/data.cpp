// SPDX-License-Identifier: Apache-2.0
// The symbols of MPICH's ABI that are none of MPI: programs use them through its header.
#include <cstring>

#include "mpi/api/errors.hpp"

namespace {
int unweighted = 0;
int weights_empty = 0;
int all_handles = 0;
}  // namespace

extern "C" {
extern int* const MPI_UNWEIGHTED = &unweighted;
extern int* const MPI_WEIGHTS_EMPTY = &weights_empty;
extern MPI_T_pvar_handle const MPI_T_PVAR_ALL_HANDLES =
    reinterpret_cast<MPI_T_pvar_handle>(&all_handles);

#define WEFT_MPI_FUNCTION(result, name, parameters) result name parameters;
#include "mpi/abi/mpich/functions.def"
#undef WEFT_MPI_FUNCTION

/// No memory of a GPU can be sent.
int MPIX_Query_cuda_support() {
  return 0;
}
int MPIX_Query_hip_support() {
  return 0;
}
int MPIX_Query_ze_support() {
  return 0;
}
int MPIX_GPU_query_support(int, int* is_supported) {
  *is_supported = 0;
  return MPI_SUCCESS;
}

int MPIX_Delete_error_class(int error_class) {
  return weft::mpi::remove_error("MPIX_Delete_error_class", error_class, true);
}
int MPIX_Delete_error_code(int error) {
  return weft::mpi::remove_error("MPIX_Delete_error_code", error, false);
}
int MPIX_Delete_error_string(int error) {
  return weft::mpi::remove_error_string("MPIX_Delete_error_string", error);
}

/// MPI_COMM_DUP_FN and the like: copies an attribute as it is.
int MPIR_Dup_fn(MPI_Comm, int, void*, void* value, void* copied, int* flag) {
  std::memcpy(copied, &value, sizeof value);
  *flag = 1;
  return MPI_SUCCESS;
}
}
