// SPDX-License-Identifier: Apache-2.0
// The messages that carry messages, and that announce writes, over MPI.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "weft/ids.hpp"

namespace weft::mpi {

enum class FrameKind : std::uint64_t {
  hello = 1,  ///< the sender knows the receiver, and may be sent to
  bye,        ///< nothing follows, and nothing is taken, until the next hello
  message,    ///< its bytes follow
  leave,      ///< the last
  write,      ///< its bytes come as messages of their own, of two segments
};

/// A frame that was read or is to be written; fields that its kind does not have are zero.
struct Frame {
  FrameKind kind{};
  Incarnation incarnation{};             ///< hello
  std::uint64_t key = 0;                 ///< write: of the region
  std::uint64_t offset = 0;              ///< write
  std::array<std::uint64_t, 2> sizes{};  ///< write: of the segments
  std::span<const std::byte> body;       ///< message; part of the bytes read
};

inline constexpr std::uint32_t frame_version = 1;
/// In front of a message's bytes.
inline constexpr std::size_t message_header = 8;
/// All but messages are at most so long.
inline constexpr std::size_t longest_header = 40;

/// Writes all but a message's body; how many bytes.
std::size_t encode(const Frame& frame, std::span<std::byte> out);
/// Nothing: these bytes are no frame, or one of another version.
std::optional<Frame> decode(std::span<const std::byte> bytes);

}  // namespace weft::mpi
