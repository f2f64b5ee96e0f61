// SPDX-License-Identifier: Apache-2.0
// Partitionings as bytes: for ranks that join a group, and for checkpoints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/result.hpp"
#include "weft/spmd/partitioning.hpp"

namespace weft::spmd {

/// Little-endian integers at the end of a list of bytes.
void append_integer(std::vector<std::byte>& out, std::uint64_t value);
void append_slices(std::vector<std::byte>& out, std::span<const Slice> slices);
/// Each rank's slices.
std::vector<std::byte> encode(const Partitioning& partitioning);
/// The inverse, of a partitioning of that space among that many ranks. Errors: corrupt.
Result<Partitioning> decode_partitioning(std::span<const std::byte> bytes, const Space& space,
                                         std::uint32_t ranks);

}  // namespace weft::spmd
