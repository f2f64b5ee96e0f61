// SPDX-License-Identifier: Apache-2.0
// Open MPI's ABI, as far as it is there: types and constants. Handles are pointers. Those of
// predefined objects point to data of the library, which a program has copies of; those of made
// objects are a kind and a number, and point nowhere.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpi/object/datatype.hpp"

struct ompi_communicator_t {
  alignas(16) unsigned char reserved[512];
};
struct ompi_datatype_t {
  alignas(16) unsigned char reserved[512];
};
struct ompi_errhandler_t {
  alignas(16) unsigned char reserved[1024];
};
struct ompi_file_t {
  alignas(16) unsigned char reserved[1536];
};
struct ompi_group_t {
  alignas(16) unsigned char reserved[256];
};
struct ompi_info_t {
  alignas(16) unsigned char reserved[256];
};
struct ompi_message_t {
  alignas(16) unsigned char reserved[256];
};
struct ompi_op_t {
  alignas(16) unsigned char reserved[2048];
};
struct ompi_request_t {
  alignas(16) unsigned char reserved[256];
};
struct ompi_win_t {
  alignas(16) unsigned char reserved[512];
};

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
using MPI_Aint = long;
using MPI_Offset = long long;
using MPI_Count = long long;
using MPI_Fint = int;

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
#define WEFT_MPI_HANDLE(type, name, object) inline constexpr type name = &object;
#define WEFT_MPI_TYPE(name, object, basic) WEFT_MPI_HANDLE(MPI_Datatype, name, object)
#include WEFT_MPI_CONSTANTS
#undef WEFT_MPI_TYPE
#undef WEFT_MPI_HANDLE
#undef WEFT_MPI_CONSTANT

/// Open MPI does not have it: no program has this handle.
inline MPI_Errhandler const MPI_ERRORS_ABORT = reinterpret_cast<MPI_Errhandler>(2);
inline int* const MPI_UNWEIGHTED = reinterpret_cast<int*>(2);
inline int* const MPI_WEIGHTS_EMPTY = reinterpret_cast<int*>(3);

namespace weft::mpi::abi {

inline constexpr const char* library_version = "weft, with Open MPI's ABI";
inline MPI_Status* const status_ignore = nullptr;
inline void* const in_place = reinterpret_cast<void*>(1);

/// A kind of objects that the program makes, whose handles have the type `Handle`.
template <class Handle>
struct Kind {
  std::uint64_t value;
};
inline constexpr Kind<MPI_Comm> made_comm{1};
inline constexpr Kind<MPI_Datatype> made_type{2};
inline constexpr Kind<MPI_Op> made_op{3};
inline constexpr Kind<MPI_Request> made_request{4};
inline constexpr Kind<MPI_Group> made_group{5};
inline constexpr Kind<MPI_Info> made_info{6};
inline constexpr Kind<MPI_Errhandler> made_errhandler{7};
inline constexpr Kind<MPI_Message> made_message{8};
inline constexpr Kind<MPI_Win> made_win{9};
inline constexpr Kind<MPI_File> made_file{10};

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

/// A handle as error messages show it.
inline std::uintptr_t shown(const void* handle) {
  return reinterpret_cast<std::uintptr_t>(handle);
}

}  // namespace weft::mpi::abi

namespace weft::mpi {

// From the highest bit: the kind, the number, and a 1, which no address of an object ends with.
template <class Handle>
int number_of(Handle* handle) {
  return static_cast<int>(static_cast<std::uint32_t>(abi::shown(handle)) >> 1);
}
template <class Handle>
Handle handle_of(abi::Kind<Handle> kind, int number) {
  const auto bits = kind.value << 32 | static_cast<std::uint32_t>(number) << 1 | 1;
  return reinterpret_cast<Handle>(bits);  // NOLINT: it points nowhere
}
template <class Handle>
bool is_of(abi::Kind<Handle> kind, Handle handle) {
  const std::uintptr_t bits = abi::shown(handle);
  return (bits & 1) == 1 && bits >> 32 == kind.value;
}

}  // namespace weft::mpi
