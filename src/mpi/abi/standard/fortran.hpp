// SPDX-License-Identifier: Apache-2.0
// Handles of the standard's ABI as integers: predefined ones are what they are, made ones are their
// number, behind the last that the standard keeps for itself.
#pragma once

#include "mpi/abi/standard/abi.hpp"

namespace weft::mpi::abi {

/// The standard keeps smaller numbers for predefined handles.
inline constexpr std::uintptr_t first_made = 4096;

template <class Handle>
Handle from_fortran(int handle) {
  const auto number = static_cast<std::uint32_t>(handle);
  if (number < first_made) return reinterpret_cast<Handle>(std::uintptr_t{number});
  return handle_of(kind_of<Handle>, static_cast<int>(number - first_made));
}
template <class Handle>
int to_fortran(Handle handle) {
  const std::uintptr_t bits = shown(handle);
  return static_cast<int>(
      bits < first_made ? bits : static_cast<unsigned>(number_of(handle)) + first_made);
}

}  // namespace weft::mpi::abi
