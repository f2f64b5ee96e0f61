// SPDX-License-Identifier: Apache-2.0
// Finds the MPI whose mpirun started this process, and weft's library that is linked with that MPI.
// weft itself links with no MPI.
#pragma once

#include <string>
#include <string_view>

#include "fabric/mpi/transport.hpp"
#include "weft/result.hpp"

namespace weft::mpi {

/// "openmpi" or "mpich": as `name` says ("mpi:openmpi"), or else, for "mpi", as the launcher's
/// environment shows. Errors: another name; no launcher started this process.
Result<std::string> implementation_of(std::string_view name);

/// Loads libweft_fabric_IMPLEMENTATION.so (base/module_loader). Starts nothing. Errors: the message
/// of the dynamic linker and the fix.
Result<const TransportCalls*> load_transport(const std::string& implementation);

}  // namespace weft::mpi
