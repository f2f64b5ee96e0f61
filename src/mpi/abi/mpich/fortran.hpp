// SPDX-License-Identifier: Apache-2.0
// Fortran under MPICH's ABI. A Fortran handle equals the C handle, except for files, whose C
// handles are pointers. Sentinels such as MPI_BOTTOM are addresses in common blocks that the
// program and the library share.
#pragma once

#include <type_traits>

#include "mpi/abi/mpich/abi.hpp"

extern "C" {
/// The common block that holds MPI_BOTTOM, MPI_IN_PLACE and MPI_STATUS_IGNORE.
extern int mpipriv1_[7];
/// The common block that holds MPI_STATUSES_IGNORE and MPI_ERRCODES_IGNORE.
extern int mpipriv2_[6];
/// The common block that holds MPI_ARGVS_NULL and MPI_ARGV_NULL.
extern char mpiprivc_[2];
/// The common block of MPI_UNWEIGHTED.
extern int mpifcmb5_;
/// The common block of MPI_WEIGHTS_EMPTY.
extern int mpifcmb9_;
}

namespace weft::mpi::abi {

/// Converts a Fortran handle to the C handle. File handles count from 1; 0 is the null handle.
template <class Handle>
Handle from_fortran(int handle) {
  if constexpr (std::is_pointer_v<Handle>) {
    return handle == 0 ? nullptr : handle_of(made_file, handle - 1);
  } else {
    return handle;
  }
}
/// Converts a C handle to the Fortran handle: the inverse of `from_fortran`.
template <class Handle>
int to_fortran(Handle handle) {
  if constexpr (std::is_pointer_v<Handle>) {
    return handle == nullptr ? 0 : number_of(handle) + 1;
  } else {
    return handle;
  }
}

// The address that a Fortran program passes for each sentinel.
inline constexpr void* fortran_bottom = &mpipriv1_[0];
inline constexpr void* fortran_in_place = &mpipriv1_[1];
inline constexpr void* fortran_status_ignore = &mpipriv1_[2];
inline constexpr void* fortran_statuses_ignore = &mpipriv2_[0];
inline constexpr void* fortran_unweighted = &mpifcmb5_;
inline constexpr void* fortran_weights_empty = &mpifcmb9_;
inline constexpr void* fortran_errcodes_ignore = &mpipriv2_[5];
inline constexpr void* fortran_argv_null = &mpiprivc_[1];
inline constexpr void* fortran_argvs_null = &mpiprivc_[0];

/// Whether functions of a generalized request get the variable that the program gave as its state,
/// and not a copy.
inline constexpr bool shares_state_of_requests = true;

/// Converts an attribute key of a Fortran program to C's: MPICH's predefined keys are one larger in
/// Fortran; keys of the program are the same.
inline int key_from_fortran(int key) {
  const bool is_predefined = (key > MPI_TAG_UB && key <= MPI_APPNUM + 1) ||
                             (key > MPI_WIN_BASE && key <= MPI_WIN_MODEL + 1);
  return is_predefined ? key - 1 : key;
}

}  // namespace weft::mpi::abi
