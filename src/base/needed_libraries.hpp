// SPDX-License-Identifier: Apache-2.0
// Reads which shared libraries a program names, to find out whose MPI's ABI it was compiled for.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace weft {

/// The DT_NEEDED entries of a 64-bit ELF image, in order. Empty: it is none, names none, or is
/// damaged; what cannot be executed is for execve to say.
std::vector<std::string> needed_libraries(std::span<const std::byte> image);

/// The MPI of a program, as far as weft takes its place.
struct MpiChoice {
  std::string abi;      ///< empty: the program is of no MPI
  std::string folder;   ///< of weft's libraries for it
  std::string library;  ///< the first that it needs
  std::string wrong;    ///< why it cannot run, and how it could; empty: it can
};
/// From a program's image: its shared libraries. A static or a 32-bit program is wrong if it names
/// functions of MPI.
MpiChoice choose_mpi(std::span<const std::byte> image);

/// Of the program in a file; of a file that cannot be read no MPI.
MpiChoice choose_mpi_of(const std::string& path);

}  // namespace weft
