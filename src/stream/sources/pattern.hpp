// SPDX-License-Identifier: Apache-2.0
// Content that identifies itself: a header naming the microslice, then bytes that depend on
// everything the header says. A swapped, stale, shifted or damaged buffer does not verify.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/result.hpp"

namespace weft {

/// system_id of the microslices that weft's own sources make.
inline constexpr std::uint8_t system_pattern = 0xE0;
inline constexpr std::uint8_t system_file = 0xE1;
inline constexpr std::uint8_t system_packets = 0xE2;

#pragma pack(push, 1)
/// The first 48 bytes of a pattern microslice's content; layout in docs/formats.md.
struct PatternHeader {
  std::uint64_t magic = 0;
  std::uint64_t seed = 0;
  std::uint64_t timeslice = 0;
  std::uint64_t sequence = 0;
  std::uint32_t channel = 0;
  std::uint32_t size = 0;   ///< of the whole content, bytes
  std::uint32_t flags = 0;  ///< bit 0: the bytes behind the header are filled
  std::uint32_t reserved = 0;
};
#pragma pack(pop)
static_assert(sizeof(PatternHeader) == 48);

inline constexpr std::uint64_t pattern_magic = 0x3154'4150'5446'4557;  // "WEFTPAT1"
inline constexpr std::uint32_t pattern_filled = 1;

/// Identifies the microslice that a content belongs to.
struct PatternIdentity {
  std::uint64_t seed = 0;       ///< the run's
  std::uint64_t timeslice = 0;  ///< it is part of this one's core
  std::uint64_t sequence = 0;   ///< number of the microslice in its channel
  std::uint32_t channel = 0;    ///< index of the input
};

/// Writes header and, with `fill`, all other bytes. `content` has at least 48 bytes.
void write_pattern(const PatternIdentity& identity, bool fill, std::span<std::byte> content);

/// Returns whether `content` starts with the magic number of a pattern.
bool is_pattern(std::span<const std::byte> content);

/// Checks header and fill of anything; the error names the difference, and its place, in one line.
Result<void> verify_pattern(const PatternIdentity& expected, std::span<const std::byte> content);

}  // namespace weft
