// SPDX-License-Identifier: Apache-2.0
// Handles that are pointers: those of objects that a program makes are a kind and a number, and
// point nowhere. An ABI includes this once it has MPI's types of handles.
#pragma once

#include <cstdint>
#include <tuple>

namespace weft::mpi::abi {

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
inline constexpr Kind<MPI_Session> made_session{11};

/// The kind of the objects whose handles have the type `Handle`.
template <class Handle>
inline constexpr Kind<Handle> kind_of = std::get<Kind<Handle>>(
    std::tuple(made_comm, made_type, made_op, made_request, made_group, made_info, made_errhandler,
               made_message, made_win, made_file, made_session));

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
