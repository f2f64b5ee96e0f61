// SPDX-License-Identifier: Apache-2.0
// The interface of libweft_mpi.so: the calls of an exchange, over MPI. It is the one library of
// weft that is linked with MPI, and it is loaded only where processes were started by mpirun or
// srun (mpi_exchange.hpp). Plain C, so that nothing but memory and functions passes between the
// two.
#pragma once

#include <cstdint>

namespace weft::sim {

struct MpiBatch {
  const void* data;
  std::uint64_t bytes;
};

/// One Exchange::turn.
struct MpiTurn {
  const std::uint32_t* neighbours;
  std::uint32_t count;
  const MpiBatch* outgoing;  ///< in the order of `neighbours`
  /// Makes room for so many more bytes from the neighbour at `place`; returns their address.
  void* (*more)(void* context, std::uint32_t place, std::uint64_t bytes);
  void* context;
  std::int64_t least;
};

/// MPI ends the whole job when a call of it fails. One thread.
struct MpiCalls {
  std::uint32_t version;  ///< mpi_calls_version
  /// First. `most_bytes`: of one MPI message, larger batches are divided. Returns an error text;
  /// null: none.
  const char* (*start)(std::uint64_t most_bytes, std::uint32_t* rank, std::uint32_t* size);
  std::int64_t (*turn)(const MpiTurn* turn);
  void (*sum)(std::uint64_t* values, std::uint64_t count);
  /// Last, by all: waits for them.
  void (*finish)();
  /// Ends all processes, with this one's exit code.
  void (*abort)(int code);
};

inline constexpr std::uint32_t mpi_calls_version = 1;
inline constexpr const char* mpi_library = "libweft_mpi.so";
inline constexpr const char* mpi_calls_symbol = "weft_mpi_calls";

}  // namespace weft::sim

extern "C" const weft::sim::MpiCalls* weft_mpi_calls();
