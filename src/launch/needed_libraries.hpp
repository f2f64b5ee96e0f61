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

/// The path by which execvp(3) finds a program; the name itself when it finds none.
std::string place_of_program(const std::string& program);

/// Returns whether a program was compiled for an MPI, or for something that `prefer_own_mpi`
/// refuses. It is found as execvp(3) does.
bool names_mpi(const std::string& program);

/// The environment names by it a module to load into programs of MPI before their MPI: "libNAME"
/// for libNAME_ABI.so, one of each ABI.
inline constexpr const char* mpi_module_variable = "WEFT_MPI_MODULE";

/// Lets the dynamic linker find weft's MPI first, where the program was compiled for one whose
/// place weft takes: sets LD_LIBRARY_PATH of this process, which is about to execute it, and
/// LD_PRELOAD for the module of `mpi_module_variable`. The program is found as execvp(3) does.
/// Returns what is wrong, for the launcher; empty: nothing.
std::string prefer_own_mpi(const std::string& program);

}  // namespace weft
