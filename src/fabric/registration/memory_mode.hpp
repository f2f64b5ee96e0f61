// SPDX-License-Identifier: Apache-2.0
// MemoryMode: how a network treats the pages of registered memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::fabric {

/// The values are on the wire (docs/formats.md).
enum class MemoryMode : std::uint8_t {
  pinned,     ///< all pages are there, and stay
  paged,      ///< the network asks for a page when it needs one
  prefetched  ///< paged, and prefetched by the program; the kernel may reclaim a page again
};
constexpr std::size_t memory_modes = 3;

/// Modes by the share of pages that they are sure to have: a stronger one serves for a weaker one.
constexpr std::uint8_t strength(MemoryMode mode) {
  constexpr std::array<std::uint8_t, memory_modes> strengths = {2, 0, 1};
  return strengths[static_cast<std::size_t>(mode)];
}

/// "pinned", "paged", "paged and prefetched".
constexpr std::string_view to_text(MemoryMode mode) {
  constexpr std::array<std::string_view, memory_modes> names = {"pinned", "paged",
                                                                "paged and prefetched"};
  return names[static_cast<std::size_t>(mode)];
}

}  // namespace weft::fabric
