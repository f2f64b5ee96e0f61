// SPDX-License-Identifier: Apache-2.0
// Types and constants of MPICH's ABI, those that weft has. A handle is an integer: a kind in its
// high bits, and a number.
#pragma once

#include <cstdint>

#include "mpi/abi/machine_part.hpp"
#include "mpi/object/datatype.hpp"

using MPI_Comm = int;
using MPI_Datatype = int;
using MPI_Op = int;
using MPI_Request = int;
using MPI_Errhandler = int;
using MPI_Group = int;
using MPI_Info = int;
using MPI_Win = int;
using MPI_Message = int;
using MPI_Session = int;
struct ADIOI_FileD;
using MPI_File = ADIOI_FileD*;
using MPI_Fint = int;
using MPI_Count = long;
using MPI_Offset = long;
using MPI_Aint = long;
/// MPI_T's handles.
using MPI_T_enum = struct MPIR_T_enum_s*;
using MPI_T_cvar_handle = struct MPIR_T_cvar_handle_s*;
using MPI_T_pvar_handle = struct MPIR_T_pvar_handle_s*;
using MPI_T_pvar_session = struct MPIR_T_pvar_session_s*;
struct MPI_Status {
  int count_lo;
  int count_hi_and_cancelled;
  int MPI_SOURCE;
  int MPI_TAG;
  int MPI_ERROR;
};

#include "mpi/abi/callbacks.def"

inline MPI_File const MPI_FILE_NULL = nullptr;

#define WEFT_MPI_CONSTANT(name, value) inline constexpr int name = static_cast<int>(value);
#define WEFT_MPI_TYPE(name, value, basic) WEFT_MPI_CONSTANT(name, value)
#define WEFT_MPI_CONSTANTS "mpi/abi/mpich/constants.def"
#include WEFT_MPI_CONSTANTS
#undef WEFT_MPI_TYPE
#undef WEFT_MPI_CONSTANT

extern "C" {
extern int* const MPI_UNWEIGHTED;
extern int* const MPI_WEIGHTS_EMPTY;
extern MPI_T_pvar_handle const MPI_T_PVAR_ALL_HANDLES;
int MPIR_Dup_fn(MPI_Comm, int, void*, void*, void*, int*);
}

namespace weft::mpi::abi {

inline constexpr const char* library_version = "weft, with MPICH's ABI";

inline MPI_Status* const status_ignore = reinterpret_cast<MPI_Status*>(1);
inline void* const in_place = reinterpret_cast<void*>(-1);
/// MPICH refuses a buffer that is input and output of a collective operation.
inline constexpr bool refuses_aliases = true;
/// 0: MPI_COMM_DUP_FN is a function with an address, and no constant stands for it.
inline constexpr std::uintptr_t dup_function = 0;
/// A file's name may begin with that of a file system and a colon, which are not part of its path.
inline constexpr bool has_path_prefixes = true;
/// The class of error that a range of ranks is which leads away from its end, or out of its group.
inline constexpr int wrong_range = MPI_ERR_ARG;
/// What MPI_Comm_split_type divides by.
inline MachinePart part_of(int split_type) {
  return split_type == MPI_COMM_TYPE_SHARED ? MachinePart::host : MachinePart::none;
}
/// Each constructor pads its datatype, and bounds that the program set hide others.
inline constexpr bool pads_all = false;
/// MPI_Type_create_subarray takes a part without elements, which the standard calls erroneous.
inline constexpr bool has_empty_parts = true;

/// The kinds of objects that the program makes, in the high bits of their handles.
inline constexpr unsigned made_comm = 0x84000000;
inline constexpr unsigned made_type = 0x8c000000;
inline constexpr unsigned made_op = 0x98000000;
inline constexpr unsigned made_request = 0xac000000;
inline constexpr unsigned made_group = 0x88000000;
inline constexpr unsigned made_errhandler = 0x94000000;
inline constexpr unsigned made_info = 0x9c000000;
inline constexpr unsigned made_win = 0xa0000000;
inline constexpr unsigned made_session = 0xb8000000;
inline constexpr unsigned made_message = made_request;
inline constexpr unsigned kind_mask = 0xfc000000;

/// Handles of files are pointers that point nowhere.
struct FileKind {};
inline constexpr FileKind made_file{};

/// MPICH's predefined pair types have the kind of made types and its first numbers, so the numbers
/// of the program's types begin here.
inline constexpr int pair_types = 5;

inline void write_bytes(MPI_Status& status, std::uint64_t bytes, bool is_cancelled) {
  status.count_lo = static_cast<int>(static_cast<std::uint32_t>(bytes));
  status.count_hi_and_cancelled =
      static_cast<int>(static_cast<std::uint32_t>(bytes >> 32) << 1 | (is_cancelled ? 1 : 0));
}
inline std::uint64_t bytes_in(const MPI_Status& status) {
  const auto high = static_cast<std::uint32_t>(status.count_hi_and_cancelled) >> 1;
  return std::uint64_t{high} << 32 | static_cast<std::uint32_t>(status.count_lo);
}
inline bool is_cancelled(const MPI_Status& status) {
  return (status.count_hi_and_cancelled & 1) != 0;
}

/// A handle as error messages show it.
inline unsigned shown(int handle) {
  return static_cast<unsigned>(handle);
}

}  // namespace weft::mpi::abi

namespace weft::mpi {

/// Returns the number of a made object, from its handle.
inline int number_of(int handle) {
  return static_cast<int>(static_cast<unsigned>(handle) & ~abi::kind_mask);
}
inline int handle_of(unsigned kind, int number) {
  return static_cast<int>(kind | static_cast<unsigned>(number));
}
inline bool is_of(unsigned kind, int handle) {
  return (static_cast<unsigned>(handle) & abi::kind_mask) == kind;
}

inline int number_of(MPI_File handle) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(handle) >> 1);
}
inline MPI_File handle_of(abi::FileKind, int number) {
  const auto bits = std::uintptr_t{static_cast<unsigned>(number)} << 1 | 1;
  return reinterpret_cast<MPI_File>(bits);  // NOLINT: it points nowhere
}
inline bool is_of(abi::FileKind, MPI_File handle) {
  return (reinterpret_cast<std::uintptr_t>(handle) & 1) == 1;
}

}  // namespace weft::mpi
