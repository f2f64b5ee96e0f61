// SPDX-License-Identifier: Apache-2.0
// Encodes partitionings as bytes, for ranks that join a group and for checkpoints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/result.hpp"
#include "weft/spmd/partitioning.hpp"

namespace weft::spmd {

/// Each appends little-endian integers to `out`.
void append_integer(std::vector<std::byte>& out, std::uint64_t value);
void append_slices(std::vector<std::byte>& out, std::span<const Slice> slices);
/// Encodes the slices of each rank.
std::vector<std::byte> encode(const Partitioning& partitioning);
/// Decodes what `encode` made of a partitioning of `space` among `ranks`. Errors: corrupt.
Result<Partitioning> decode_partitioning(std::span<const std::byte> bytes, const Space& space,
                                         std::uint32_t ranks);

}  // namespace weft::spmd
