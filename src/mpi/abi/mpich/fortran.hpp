// SPDX-License-Identifier: Apache-2.0
// MPICH's handles in Fortran are those of C, but for files, whose handles in C are pointers. Its
// sentinels are common blocks, of which a program and the library have one copy.
#pragma once

#include <type_traits>

#include "mpi/abi/mpich/abi.hpp"

extern "C" {
/// MPI_BOTTOM, MPI_IN_PLACE, MPI_STATUS_IGNORE.
extern int mpipriv1_[7];
/// MPI_STATUSES_IGNORE, MPI_ERRCODES_IGNORE.
extern int mpipriv2_[6];
}

namespace weft::mpi::abi {

template <class Handle>
Handle from_fortran(int handle) {
  if constexpr (std::is_pointer_v<Handle>) {
    return handle == 0 ? nullptr : handle_of(made_file, handle - 1);
  } else {
    return handle;
  }
}
template <class Handle>
int to_fortran(Handle handle) {
  if constexpr (std::is_pointer_v<Handle>) {
    return handle == nullptr ? 0 : number_of(handle) + 1;
  } else {
    return handle;
  }
}

inline void* fortran_bottom() {
  return &mpipriv1_[0];
}
inline void* fortran_in_place() {
  return &mpipriv1_[1];
}
inline void* fortran_status_ignore() {
  return &mpipriv1_[2];
}
inline void* fortran_statuses_ignore() {
  return &mpipriv2_[0];
}

/// Predefined keys of attributes are one more in Fortran.
inline int key_from_fortran(int key) {
  const bool is_predefined = key > MPI_TAG_UB && key <= MPI_APPNUM + 1;
  return is_predefined ? key - 1 : key;
}

}  // namespace weft::mpi::abi
