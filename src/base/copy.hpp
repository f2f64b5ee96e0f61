// SPDX-License-Identifier: Apache-2.0
// copy_bytes: memcpy for bytes of which there are mostly few.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace weft {

/// Copies `size` bytes between memory that does not overlap. Up to 64 are moved right here: a small
/// message is in the ring by the time that a call of memcpy has found out how to copy it. Word by
/// word, as they were written just before: a wider load would have to wait until the words that it
/// spans have left the processor's store buffer.
inline void copy_bytes(std::byte* to, const std::byte* from, std::size_t size) {
  const auto move = [&]<class Word>(std::size_t at, Word word) {
    std::memcpy(&word, from + at, sizeof word);
    asm("" : "+r"(word));  // else the compiler joins it with its neighbour
    std::memcpy(to + at, &word, sizeof word);
  };
  constexpr std::size_t word = sizeof(std::uint64_t);
  if (size > 64) {
    std::memcpy(to, from, size);
  } else if (size >= word) {
    // The last one overlaps that before it unless there are just that many bytes.
    for (std::size_t at = 0; at < size - word; at += word) move(at, std::uint64_t{});
    move(size - word, std::uint64_t{});
  } else if (size >= 4) {
    move(0, std::uint32_t{});
    move(size - 4, std::uint32_t{});
  } else {
    for (std::size_t i = 0; i < size; ++i) to[i] = from[i];
  }
}

}  // namespace weft
