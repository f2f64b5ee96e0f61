// SPDX-License-Identifier: Apache-2.0
// Handles of the standard's ABI as integers: predefined ones are what they are, made ones are their
// number, behind the last that the standard keeps for itself.
#pragma once

#include "mpi/abi/standard/abi.hpp"

namespace weft::mpi::abi {

/// The standard keeps smaller numbers for predefined handles.
inline constexpr std::uintptr_t first_made = 4096;

template <class Handle>
inline constexpr int kind_of = 0;
template <>
inline constexpr int kind_of<MPI_Comm> = 1;
template <>
inline constexpr int kind_of<MPI_Datatype> = 2;
template <>
inline constexpr int kind_of<MPI_Op> = 3;
template <>
inline constexpr int kind_of<MPI_Request> = 4;
template <>
inline constexpr int kind_of<MPI_Group> = 5;
template <>
inline constexpr int kind_of<MPI_Info> = 6;
template <>
inline constexpr int kind_of<MPI_Errhandler> = 7;
template <>
inline constexpr int kind_of<MPI_Message> = 8;
template <>
inline constexpr int kind_of<MPI_Win> = 9;
template <>
inline constexpr int kind_of<MPI_File> = 10;
template <>
inline constexpr int kind_of<MPI_Session> = 11;

template <class Handle>
Handle from_fortran(int handle) {
  const auto number = static_cast<std::uint32_t>(handle);
  if (number < first_made) return reinterpret_cast<Handle>(std::uintptr_t{number});
  return handle_of(Kind<Handle>{kind_of<Handle>}, static_cast<int>(number - first_made));
}
template <class Handle>
int to_fortran(Handle handle) {
  const std::uintptr_t bits = shown(handle);
  return static_cast<int>(
      bits < first_made ? bits : static_cast<unsigned>(number_of(handle)) + first_made);
}

}  // namespace weft::mpi::abi
