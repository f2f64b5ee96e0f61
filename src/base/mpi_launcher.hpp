// SPDX-License-Identifier: Apache-2.0
// Finds programs by name, and the MPI that an mpirun belongs to.
#pragma once

#include <filesystem>
#include <string>

#include "weft/result.hpp"

namespace weft {

/// The path at which the shell would find a program; empty: none. A name with a slash is a path.
std::filesystem::path find_program(const std::string& name);

/// Returns whether the command's first word is an MPI's launcher by its file's name: mpirun,
/// mpiexec, or what those are links to.
bool is_mpi_launcher(const std::string& program);

/// The MPI whose launcher the command's first word is: "mpich" or "openmpi". Error: neither's.
Result<std::string> mpi_of_launcher(const std::string& launcher);

}  // namespace weft
