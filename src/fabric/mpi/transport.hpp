// SPDX-License-Identifier: Apache-2.0
// The interface of libweft_fabric_openmpi.so and libweft_fabric_mpich.so: messages over MPI. The
// same source, built against each; one of them is loaded where a program asks for MPI
// (library.hpp). Plain C, so that nothing but memory and functions passes between the two.
#pragma once

#include <cstdint>

namespace weft::mpi {

/// The rank of this process and the number of processes.
struct World {
  std::uint32_t rank;
  std::uint32_t size;
  std::uint32_t size_here;  ///< on this machine
};

/// MPI ends the whole job when a call of it fails. One thread. No call but `start` and `finish`
/// blocks.
struct TransportCalls {
  std::uint32_t version;  ///< transport_version
  /// First, by all processes: waits for them. Returns an error text; null: none.
  const char* (*start)(World* world);
  /// Data stays valid until `finished` says the cookie. At most 2^31 − 1 bytes. Per receiver and
  /// tag messages arrive in order.
  void (*send)(const void* data, std::uint64_t bytes, std::uint32_t to, int tag,
               std::uint64_t cookie);
  /// The next message of that sender and tag, which has so many bytes.
  void (*receive)(void* data, std::uint64_t bytes, std::uint32_t from, int tag,
                  std::uint64_t cookie);
  /// Room for a message of the tag from anybody; filled in the order of the calls.
  void (*listen)(void* data, std::uint64_t bytes, int tag);
  /// Whether the room that was given first has its message, which then counts no more. Makes
  /// progress.
  int (*heard)(std::uint32_t* from, std::uint64_t* bytes);
  /// Makes progress. The cookies of sends and receives that ended, valid until the next call.
  const std::uint64_t* (*finished)(std::uint32_t* count);
  /// Last, by all, with no send or receive under way: waits for them.
  void (*finish)();
};

inline constexpr std::uint32_t transport_version = 1;
inline constexpr const char* transport_symbol = "weft_mpi_transport";

}  // namespace weft::mpi

extern "C" const weft::mpi::TransportCalls* weft_mpi_transport();
