// SPDX-License-Identifier: Apache-2.0
// Numbers of the protocol between endpoints over MPI.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::mpi {

inline constexpr int stream_tag = 1;  ///< frames
inline constexpr int write_tag = 2;   ///< bytes of writes, in the order of their frames
inline constexpr std::size_t largest_message = 32 << 10;
/// A segment of a write is divided into MPI messages of this size and a last one that may be
/// shorter.
inline constexpr std::size_t largest_part = 16 << 20;
/// Cookies of receives are the sender's rank; of sends the operation's place, with this.
inline constexpr std::uint64_t cookie_of_send = std::uint64_t{1} << 63;

}  // namespace weft::mpi
