// SPDX-License-Identifier: Apache-2.0
// The header that shaped endpoints put in front of each message they exchange.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/clocks.hpp"

namespace weft::shaped {

/// Tells the receiver that bytes are passing, and when they are at its port.
struct Marker {
  enum class Kind : std::uint8_t {
    filler = 0,   ///< a chunk of a write, or of a message that follows later; nothing more comes
    message = 1,  ///< the last chunk of a message, whose bytes follow this header
  };
  static constexpr std::size_t size = 16;
  /// No chunk is larger; the receiver refuses more.
  static constexpr std::uint32_t max_bytes = 16u << 20;

  Kind kind = Kind::filler;
  std::uint32_t bytes = 0;  ///< of the chunk, as they pass the link
  /// At the port. A node of another host has another clock and could not interpret this.
  HostInstant arrives{};
};

using MarkerBytes = std::array<std::byte, Marker::size>;

void encode(const Marker& marker, std::span<std::byte, Marker::size> out);
/// Nothing when the bytes are not a marker; a filler must not be followed by anything.
std::optional<Marker> decode_marker(std::span<const std::byte> message);

}  // namespace weft::shaped
