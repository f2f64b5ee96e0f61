// SPDX-License-Identifier: Apache-2.0
// The ABI of MPI 5.0's standard, version 1.0: types and constants. Handles are pointers: small
// numbers for predefined objects, and those of pointer_handles.hpp for made ones.
#pragma once

#include <cstdint>
#include <cstring>

#include "mpi/abi/machine_part.hpp"
#include "mpi/object/datatype.hpp"

using MPI_Comm = struct MPI_ABI_Comm*;
using MPI_Datatype = struct MPI_ABI_Datatype*;
using MPI_Errhandler = struct MPI_ABI_Errhandler*;
using MPI_File = struct MPI_ABI_File*;
using MPI_Group = struct MPI_ABI_Group*;
using MPI_Info = struct MPI_ABI_Info*;
using MPI_Message = struct MPI_ABI_Message*;
using MPI_Op = struct MPI_ABI_Op*;
using MPI_Request = struct MPI_ABI_Request*;
using MPI_Session = struct MPI_ABI_Session*;
using MPI_Win = struct MPI_ABI_Win*;
using MPI_Aint = std::intptr_t;
using MPI_Offset = std::int64_t;
using MPI_Count = std::int64_t;
/// The standard's ABI does not have it; weft's functions of Fortran's handles do.
using MPI_Fint = int;

/// MPI_T's handles.
using MPI_T_enum = struct MPI_T_enum_t*;
using MPI_T_cvar_handle = struct MPI_T_cvar_handle_t*;
using MPI_T_pvar_handle = struct MPI_T_pvar_handle_t*;
using MPI_T_pvar_session = struct MPI_T_pvar_session_t*;

struct MPI_Status {
  int MPI_SOURCE;
  int MPI_TAG;
  int MPI_ERROR;
  int MPI_internal[5];
};

#include "mpi/abi/callbacks.def"

#define WEFT_MPI_CONSTANTS "mpi/abi/standard/constants.def"
#define WEFT_MPI_CONSTANT(name, value) inline constexpr int name = value;
#define WEFT_MPI_HANDLE(type, name, value) inline type const name = reinterpret_cast<type>(value);
#define WEFT_MPI_TYPE(name, value, basic) WEFT_MPI_HANDLE(MPI_Datatype, name, value)
#include WEFT_MPI_CONSTANTS
#undef WEFT_MPI_TYPE
#undef WEFT_MPI_HANDLE
#undef WEFT_MPI_CONSTANT

/// This ABI does not have it.
inline MPI_Datatype const MPI_COMPLEX32 = MPI_DATATYPE_NULL;
inline MPI_T_pvar_handle const MPI_T_PVAR_ALL_HANDLES = reinterpret_cast<MPI_T_pvar_handle>(1);
inline int* const MPI_UNWEIGHTED = reinterpret_cast<int*>(10);
inline int* const MPI_WEIGHTS_EMPTY = reinterpret_cast<int*>(11);

#include "mpi/abi/pointer_handles.hpp"

namespace weft::mpi::abi {

inline constexpr const char* library_version = "weft, with the standard's ABI 1.0";
inline MPI_Status* const status_ignore = nullptr;
inline void* const in_place = reinterpret_cast<void*>(1);
/// A buffer that is input and output of a collective operation is an error.
inline constexpr bool refuses_aliases = true;
/// MPI_COMM_DUP_FN and its kin: a function that copies an attribute as it is, which is no address.
inline constexpr std::uintptr_t dup_function = 1;
/// A file's name may begin with that of a file system and a colon, which are not part of its path.
inline constexpr bool has_path_prefixes = false;
/// The class of error that a range of ranks is which leads away from its end, or out of its group.
inline constexpr int wrong_range = MPI_ERR_ARG;
/// What MPI_Comm_split_type divides by.
inline MachinePart part_of(int split_type) {
  return split_type == MPI_COMM_TYPE_SHARED ? MachinePart::host : MachinePart::none;
}
/// Each constructor pads its datatype, and bounds that the program set hide others.
inline constexpr bool pads_all = false;
/// MPI_Type_create_subarray takes a part without elements, which the standard calls erroneous.
inline constexpr bool has_empty_parts = false;

/// Numbers of made types begin with 0.
inline constexpr int pair_types = 0;

// MPI_internal: the bytes, in two integers, and whether it was cancelled.
inline void write_bytes(MPI_Status& status, std::uint64_t bytes, bool is_cancelled) {
  std::memcpy(status.MPI_internal, &bytes, sizeof bytes);
  status.MPI_internal[2] = is_cancelled ? 1 : 0;
}
inline std::uint64_t bytes_in(const MPI_Status& status) {
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, status.MPI_internal, sizeof bytes);
  return bytes;
}
inline bool is_cancelled(const MPI_Status& status) {
  return status.MPI_internal[2] != 0;
}

}  // namespace weft::mpi::abi
