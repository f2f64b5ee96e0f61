// SPDX-License-Identifier: Apache-2.0
// Handles and statuses of C as Fortran has them, and back.
#include <cstring>

#include "mpi/abi/fortran.hpp"
#include "mpi/api/library.hpp"

using weft::mpi::abi::from_fortran;
using weft::mpi::abi::to_fortran;

#define WEFT_MPI_HANDLE_NUMBER(name, Handle) \
  MPI_Fint MPI_##name##_c2f(Handle handle) { \
    return to_fortran<Handle>(handle);       \
  }                                          \
  Handle MPI_##name##_f2c(MPI_Fint handle) { \
    return from_fortran<Handle>(handle);     \
  }
#include "mpi/abi/handles.def"
#undef WEFT_MPI_HANDLE_NUMBER

int MPI_Status_c2f(const MPI_Status* status, MPI_Fint* fortran) {
  std::memcpy(fortran, status, sizeof *status);
  return MPI_SUCCESS;
}

int MPI_Status_f2c(const MPI_Fint* fortran, MPI_Status* status) {
  std::memcpy(status, fortran, sizeof *status);
  return MPI_SUCCESS;
}
