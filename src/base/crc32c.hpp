// SPDX-License-Identifier: Apache-2.0
// CRC-32C (Castagnoli, polynomial 0x1EDC6F41, reflected, as in iSCSI and FLESnet's microslices).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace weft {

/// The checksum of `bytes`; with `before`, of the bytes with that checksum followed by `bytes`, so
/// that crc32c(b, crc32c(a)) is the checksum of a and b. Uses the processor's instruction where
/// there is one (decided at run time). Any thread, no state.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);

/// The same by table, on any processor. For tests and as the reference.
std::uint32_t crc32c_by_table(std::span<const std::byte> bytes, std::uint32_t before = 0);

}  // namespace weft
