// SPDX-License-Identifier: Apache-2.0
// The parts of a machine by which MPI_Comm_split_type divides processes.
#pragma once

#include <cstdint>

namespace weft::mpi::abi {

enum class MachinePart : std::uint8_t {
  none,  ///< the process gets no communicator
  thread,
  core,
  cache_1,
  cache_2,
  cache_3,
  socket,
  memory,  ///< that of a node of a machine with several memories (NUMA)
  host,
  all,  ///< the machine
};

}  // namespace weft::mpi::abi
