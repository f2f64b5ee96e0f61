// SPDX-License-Identifier: Apache-2.0
// Fortran above the standard's ABI, which leaves Fortran to others: of a library of MPI nothing is
// known but that ABI. Handles are the numbers that the ABI's own functions give: predefined ones
// are what they are in C. Sentinels are common blocks, of which a program and this library have one
// copy.
#pragma once

#include <cstdint>

#include "mpi/abi/standard/abi.hpp"

extern "C" {
extern int mpi_weft_bottom_;
extern int mpi_weft_in_place_;
extern int mpi_weft_status_ignore_[8];
extern int mpi_weft_statuses_ignore_[8];
extern int mpi_weft_errcodes_ignore_;
extern int mpi_weft_unweighted_;
extern int mpi_weft_weights_empty_;
extern char mpi_weft_argv_null_;
extern char mpi_weft_argvs_null_;

#define WEFT_MPI_FUNCTION(result, name, parameters) result name parameters;
#include "mpi/abi/standard/functions.def"
#undef WEFT_MPI_FUNCTION
}

namespace weft::mpi::abi {

/// The ABI's functions between handles and numbers.
template <class Handle>
struct Numbers;
#define WEFT_MPI_HANDLE_NUMBER(name, Handle)                                  \
  template <>                                                                 \
  struct Numbers<Handle> {                                                    \
    static Handle handle(int number) { return MPI_##name##_fromint(number); } \
    static int number(Handle handle) { return MPI_##name##_toint(handle); }   \
  };
#include "mpi/abi/handles.def"
WEFT_MPI_HANDLE_NUMBER(Session, MPI_Session)
#undef WEFT_MPI_HANDLE_NUMBER

/// Numbers below it are predefined handles, by the standard: nearly all of a program are.
inline constexpr std::uintptr_t first_not_predefined = 4096;

template <class Handle>
Handle from_fortran(int number) {
  const auto value = static_cast<std::uint32_t>(number);
  if (value < first_not_predefined) return reinterpret_cast<Handle>(std::uintptr_t{value});
  return Numbers<Handle>::handle(number);
}
template <class Handle>
int to_fortran(Handle handle) {
  const std::uintptr_t bits = shown(handle);
  return bits < first_not_predefined ? static_cast<int>(bits) : Numbers<Handle>::number(handle);
}

inline constexpr void* fortran_bottom = &mpi_weft_bottom_;
inline constexpr void* fortran_in_place = &mpi_weft_in_place_;
inline constexpr void* fortran_status_ignore = &mpi_weft_status_ignore_[0];
inline constexpr void* fortran_statuses_ignore = &mpi_weft_statuses_ignore_[0];
inline constexpr void* fortran_unweighted = &mpi_weft_unweighted_;
inline constexpr void* fortran_weights_empty = &mpi_weft_weights_empty_;
inline constexpr void* fortran_errcodes_ignore = &mpi_weft_errcodes_ignore_;
inline constexpr void* fortran_argv_null = &mpi_weft_argv_null_;
inline constexpr void* fortran_argvs_null = &mpi_weft_argvs_null_;

/// Whether functions of a generalized request get the variable that the program gave as its state,
/// and not a copy.
inline constexpr bool shares_state_of_requests = true;

inline int key_from_fortran(int key) {
  return key;
}

}  // namespace weft::mpi::abi
