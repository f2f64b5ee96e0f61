// SPDX-License-Identifier: Apache-2.0
// Open MPI's handles in Fortran are numbers: small ones are predefined. Its sentinels are common
// blocks, of which a program and the library have one copy.
#pragma once

#include "mpi/abi/openmpi/abi.hpp"

extern "C" {
extern int mpi_fortran_bottom_;
extern int mpi_fortran_in_place_;
extern double mpi_fortran_status_ignore_;
extern double mpi_fortran_statuses_ignore_;
extern int mpi_fortran_errcodes_ignore_;
extern int mpi_fortran_unweighted_;
extern int mpi_fortran_weights_empty_;
extern char mpi_fortran_argv_null_;
extern char mpi_fortran_argvs_null_;
}

namespace weft::mpi::abi {

/// The handle of a made object in Fortran is its number, plus this.
inline constexpr int first_made = 1024;

/// Handle: of any kind of object. One that there is not becomes null, which no function takes.
template <class Handle>
Handle from_fortran(int handle);
template <class Handle>
int to_fortran(Handle handle);

inline constexpr void* fortran_bottom = &mpi_fortran_bottom_;
inline constexpr void* fortran_in_place = &mpi_fortran_in_place_;
inline constexpr void* fortran_status_ignore = &mpi_fortran_status_ignore_;
inline constexpr void* fortran_statuses_ignore = &mpi_fortran_statuses_ignore_;
inline constexpr void* fortran_unweighted = &mpi_fortran_unweighted_;
inline constexpr void* fortran_weights_empty = &mpi_fortran_weights_empty_;
inline constexpr void* fortran_errcodes_ignore = &mpi_fortran_errcodes_ignore_;
inline constexpr void* fortran_argv_null = &mpi_fortran_argv_null_;
inline constexpr void* fortran_argvs_null = &mpi_fortran_argvs_null_;

/// Whether functions of a generalized request get the variable that the program gave as its state,
/// and not a copy.
inline constexpr bool shares_state_of_requests = false;

inline int key_from_fortran(int key) {
  return key;
}

}  // namespace weft::mpi::abi
