// SPDX-License-Identifier: Apache-2.0
// Open MPI's ABI, as far as it is there: types and constants. Handles are pointers. Those of
// predefined objects point to data of the library, which a program has copies of; those of made
// objects are a kind and a number, and point nowhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "mpi/abi/machine_part.hpp"
#include "mpi/object/datatype.hpp"

/// A predefined object as Open MPI's library exports it: its size, and nothing that anybody reads.
/// A program has copies of it (copy relocations), so that the size is part of the ABI.
template <std::size_t bytes>
struct ompi_object {
  alignas(16) unsigned char reserved[bytes];
};
struct ompi_communicator_t : ompi_object<512> {};
struct ompi_datatype_t : ompi_object<512> {};
struct ompi_errhandler_t : ompi_object<1024> {};
struct ompi_file_t : ompi_object<1536> {};
struct ompi_group_t : ompi_object<256> {};
struct ompi_info_t : ompi_object<256> {};
struct ompi_message_t : ompi_object<256> {};
struct ompi_op_t : ompi_object<2048> {};
struct ompi_request_t : ompi_object<256> {};
struct ompi_win_t : ompi_object<512> {};

using MPI_Comm = ompi_communicator_t*;
using MPI_Datatype = ompi_datatype_t*;
using MPI_Errhandler = ompi_errhandler_t*;
using MPI_File = ompi_file_t*;
using MPI_Group = ompi_group_t*;
using MPI_Info = ompi_info_t*;
using MPI_Message = ompi_message_t*;
using MPI_Op = ompi_op_t*;
using MPI_Request = ompi_request_t*;
using MPI_Win = ompi_win_t*;
using MPI_Session = struct ompi_instance_t*;  // of Open MPI 5
using MPI_Aint = long;
using MPI_Offset = long long;
using MPI_Count = long long;
using MPI_Fint = int;

/// MPI_T's handles.
using MPI_T_enum = struct mca_base_var_enum_t*;
using MPI_T_cvar_handle = struct ompi_mpit_cvar_handle_t*;
using MPI_T_pvar_handle = struct mca_base_pvar_handle_t*;
using MPI_T_pvar_session = struct mca_base_pvar_session_t*;

struct ompi_status_public_t {
  int MPI_SOURCE;
  int MPI_TAG;
  int MPI_ERROR;
  int cancelled;
  std::size_t bytes;
};
using MPI_Status = ompi_status_public_t;

#include "mpi/abi/callbacks.def"

#define WEFT_MPI_OBJECT(type, name) extern "C" ompi_##type##_t name;
#include "mpi/abi/openmpi/objects.def"
#undef WEFT_MPI_OBJECT

#define WEFT_MPI_CONSTANTS "mpi/abi/openmpi/constants.def"
#define WEFT_MPI_CONSTANT(name, value) inline constexpr int name = value;
#define WEFT_MPI_HANDLE(type, name, object, ...) \
  extern "C" std::remove_pointer_t<type> object; \
  inline constexpr type name = &object;
#define WEFT_MPI_TYPE(name, object, ...) WEFT_MPI_HANDLE(MPI_Datatype, name, object)
#include WEFT_MPI_CONSTANTS
#undef WEFT_MPI_TYPE
#undef WEFT_MPI_HANDLE
#undef WEFT_MPI_CONSTANT

/// The same object has both names.
inline constexpr MPI_Datatype MPI_C_FLOAT_COMPLEX = MPI_C_COMPLEX;

/// Open MPI 4 does not have them: no program has these handles.
inline MPI_Errhandler const MPI_ERRORS_ABORT = reinterpret_cast<MPI_Errhandler>(2);
inline MPI_T_pvar_handle const MPI_T_PVAR_ALL_HANDLES = reinterpret_cast<MPI_T_pvar_handle>(-1);
inline MPI_Session const MPI_SESSION_NULL = nullptr;
inline constexpr int MPI_ERR_SESSION = MPI_ERR_OTHER;
inline int* const MPI_UNWEIGHTED = reinterpret_cast<int*>(2);
inline int* const MPI_WEIGHTS_EMPTY = reinterpret_cast<int*>(3);

#include "mpi/abi/pointer_handles.hpp"

namespace weft::mpi::abi {

inline constexpr const char* library_version = "weft, with Open MPI's ABI";
inline MPI_Status* const status_ignore = nullptr;
inline void* const in_place = reinterpret_cast<void*>(1);
/// Open MPI takes a buffer that is input and output of a collective operation.
inline constexpr bool refuses_aliases = false;
/// The function that copies an attribute as it is has an address.
inline constexpr std::uintptr_t dup_function = 0;
/// A file's name may begin with that of a file system and a colon, which are not part of its path.
inline constexpr bool has_path_prefixes = false;
/// The class of error that a range of ranks is which leads away from its end, or out of its group.
inline constexpr int wrong_range = MPI_ERR_RANK;
/// What MPI_Comm_split_type divides by. Boards and hosts are the same to Open MPI, too, and it
/// takes all hosts for parts of one unit and one cluster.
inline MachinePart part_of(int split_type) {
  switch (split_type) {
    case OMPI_COMM_TYPE_HWTHREAD:
      return MachinePart::thread;
    case OMPI_COMM_TYPE_CORE:
      return MachinePart::core;
    case OMPI_COMM_TYPE_L1CACHE:
      return MachinePart::cache_1;
    case OMPI_COMM_TYPE_L2CACHE:
      return MachinePart::cache_2;
    case OMPI_COMM_TYPE_L3CACHE:
      return MachinePart::cache_3;
    case OMPI_COMM_TYPE_SOCKET:
      return MachinePart::socket;
    case OMPI_COMM_TYPE_NUMA:
      return MachinePart::memory;
    case MPI_COMM_TYPE_SHARED:
    case OMPI_COMM_TYPE_BOARD:
    case OMPI_COMM_TYPE_HOST:
      return MachinePart::host;
    case OMPI_COMM_TYPE_CU:
    case OMPI_COMM_TYPE_CLUSTER:
      return MachinePart::all;
    default:
      return MachinePart::none;
  }
}
/// Each constructor pads its datatype, and bounds that the program set hide others.
inline constexpr bool pads_all = true;
/// MPI_Type_create_subarray takes a part without elements, which the standard calls erroneous.
inline constexpr bool has_empty_parts = false;

/// Numbers of made types begin with 0: all predefined ones are objects.
inline constexpr int pair_types = 0;

inline void write_bytes(MPI_Status& status, std::uint64_t bytes, bool is_cancelled) {
  status.bytes = bytes;
  status.cancelled = is_cancelled ? 1 : 0;
}
inline std::uint64_t bytes_in(const MPI_Status& status) {
  return status.bytes;
}
inline bool is_cancelled(const MPI_Status& status) {
  return status.cancelled != 0;
}

}  // namespace weft::mpi::abi
