// SPDX-License-Identifier: Apache-2.0
// Programs by name, and whose mpirun one is.
#pragma once

#include <filesystem>
#include <string>

#include "weft/result.hpp"

namespace weft {

/// Where the shell would find a program; empty: nowhere. A name with a slash is a path already.
std::filesystem::path find_program(const std::string& name);

/// The MPI whose launcher the command's first word is: "mpich" or "openmpi". Error: neither's.
Result<std::string> mpi_of_launcher(const std::string& launcher);

}  // namespace weft
