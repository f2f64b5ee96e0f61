// SPDX-License-Identifier: Apache-2.0
// Reads a program's list of shared libraries to find the MPI ABI that it was compiled for.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// The DT_NEEDED entries of a 64-bit ELF image, in order. Empty for another kind of file or a
/// damaged one: execve reports files that it cannot run.
std::vector<std::string> needed_libraries(std::span<const std::byte> image);

/// The MPI of a program, as far as weft takes its place.
struct MpiChoice {
  std::string abi;      ///< empty: the program needs no MPI
  std::string folder;   ///< of weft's libraries for it
  std::string library;  ///< the first MPI library that it needs
  std::string wrong;    ///< why it cannot run, and the fix; empty: it can
  /// The dynamic linker looks in the program's DT_RPATH before LD_LIBRARY_PATH.
  bool has_first_rpath = false;
};
/// Looks at an image's shared libraries. A static or a 32-bit program is wrong if it names MPI
/// functions, another one if it defines MPI_Init and has no other MPI.
MpiChoice choose_mpi(std::span<const std::byte> image);

/// Chooses for the program in a file; none if it is unreadable.
MpiChoice choose_mpi_of(const std::string& path);

/// Names of weft's libraries for an ABI; its folder may lack some.
std::vector<std::string> own_libraries_of(std::string_view abi);

}  // namespace weft
