// SPDX-License-Identifier: Apache-2.0
// Puts weft's MPI in the place of the one that a program was compiled for.
#pragma once

#include <string>

namespace weft {

/// The path by which execvp(3) finds a program; the name itself when it finds none.
std::string place_of_program(const std::string& program);

/// Returns whether a program was compiled for an MPI, or for something that `prefer_own_mpi`
/// refuses. It is found as execvp(3) does.
bool names_mpi(const std::string& program);

/// The environment names by it a module to load into programs of MPI before their MPI: "libNAME"
/// for libNAME_ABI.so, one of each ABI.
inline constexpr const char* mpi_module_variable = "WEFT_MPI_MODULE";

/// Lets the dynamic linker find weft's MPI first, where the program was compiled for one whose
/// place weft takes, or for none, but may start or load others that were: sets LD_LIBRARY_PATH of
/// this process, which is about to execute it, and LD_PRELOAD for the module of
/// `mpi_module_variable`, for that of clocks if the program may be started anew, and for weft's MPI
/// if the program has a DT_RPATH. The program is found as execvp(3) does. Returns what is wrong,
/// for the launcher; empty: nothing.
std::string prefer_own_mpi(const std::string& program, bool may_start_anew);

}  // namespace weft
