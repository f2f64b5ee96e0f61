// SPDX-License-Identifier: Apache-2.0
// Finds programs by name, and the MPI that an mpirun belongs to.
#pragma once

#include <filesystem>
#include <string>

#include "weft/result.hpp"

namespace weft {

/// Returns the path at which the shell would find a program; empty: none. Returns a name with a
/// slash as it is, whether the file exists or not.
std::filesystem::path find_program(const std::string& name);

/// Returns whether the command's first word is an MPI's launcher: whether its file's name, behind
/// all links, begins with mpirun, mpiexec, orterun or prterun.
bool is_mpi_launcher(const std::string& program);

/// Returns the MPI whose launcher the command's first word is: "mpich" or "openmpi". Error: it is
/// neither's.
Result<std::string> mpi_of_launcher(const std::string& launcher);

}  // namespace weft
