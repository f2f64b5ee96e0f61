// SPDX-License-Identifier: Apache-2.0
// A fabric over MPI as transport: for networks that only an MPI reaches, and for comparing weft's
// own transports with one. Open MPI and MPICH, whichever started the process.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "weft/fabric.hpp"
#include "weft/result.hpp"

namespace weft {

/// An endpoint of each process that mpirun started. Promises that MPI cannot keep: a process that
/// dies ends the whole job, none comes back, and unexpected messages wait in MPI's own memory.
class MpiFabric : public Fabric {
 public:
  /// The rank in MPI_COMM_WORLD, which is the node's number too.
  virtual NodeId self() const = 0;
  virtual std::uint32_t size() const = 0;
  virtual std::uint32_t size_here() const = 0;  ///< on this machine
};

/// Returns whether `name` is "mpi", "mpi:openmpi" or "mpi:mpich".
bool is_mpi(const std::string& name);
/// For a program of MPI, which has weft's library in the place of the one that would carry its
/// messages. `option` gave the name.
Error refuse_program_of_mpi(const std::string& option, const std::string& name);
/// The address of that rank, for `add_peer`.
std::string mpi_address(NodeId rank);

/// Loads the MPI and starts it, which waits until all processes of the job have come so far. Once
/// in a process: MPI cannot be started again. To end it destroy the endpoint, in all processes; a
/// process that does so earlier is down for its peers, and waits for them. Errors: not started by
/// mpirun; the library is not there.
Result<std::unique_ptr<MpiFabric>> open_mpi(const std::string& name);

}  // namespace weft
