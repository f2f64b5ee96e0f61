// SPDX-License-Identifier: Apache-2.0
// copy_bytes: memcpy for bytes of which there are mostly few.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace weft {

/// Copies `size` bytes between memory that does not overlap. Up to 64 are moved right here: a small
/// message is in the ring by the time that a call of memcpy has found out how to copy it.
inline void copy_bytes(std::byte* to, const std::byte* from, std::size_t size) {
  // Two moves of a fixed size, which overlap unless there are just that many bytes.
  const auto move_ends = [&]<class Block>(Block first, Block last) {
    std::memcpy(&first, from, sizeof first);
    std::memcpy(&last, from + size - sizeof last, sizeof last);
    std::memcpy(to, &first, sizeof first);
    std::memcpy(to + size - sizeof last, &last, sizeof last);
  };
  struct Sixteen {
    std::uint64_t words[2];
  };
  struct ThirtyTwo {
    std::uint64_t words[4];
  };
  if (size > 64) {
    std::memcpy(to, from, size);
  } else if (size > 32) {
    move_ends(ThirtyTwo{}, ThirtyTwo{});
  } else if (size > 16) {
    move_ends(Sixteen{}, Sixteen{});
  } else if (size >= 8) {
    move_ends(std::uint64_t{}, std::uint64_t{});
  } else if (size >= 4) {
    move_ends(std::uint32_t{}, std::uint32_t{});
  } else {
    for (std::size_t i = 0; i < size; ++i) to[i] = from[i];
  }
}

}  // namespace weft
