// SPDX-License-Identifier: Apache-2.0
// The format of a rank's checkpoint, in a file or in another rank's memory. All integers 64 bits,
// little-endian:
//   "WEFTCKP1", step, bytes of the shape, the shape, the values, CRC-32C of all before.
// The shape: rank, ranks, containers; of each element size, extents, slices (7 integers each). The
// values: container by container, slice by slice, x fastest. One shape has one length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "weft/result.hpp"
#include "weft/spmd/container.hpp"

namespace weft::spmd {

using ContainerList = std::vector<ContainerBase*>;

/// Everything before the values, of any rank of the containers' group.
std::vector<std::byte> checkpoint_head(const ContainerList& containers, Rank rank,
                                       std::uint64_t step);
/// Bytes of a whole checkpoint.
std::uint64_t checkpoint_size(const ContainerList& containers, Rank rank);
/// This rank's, piece by piece.
Result<void> write_checkpoint(const ContainerList& containers, Rank rank, std::uint64_t step,
                              const std::function<Result<void>(std::span<const std::byte>)>& write);
/// Checks whether `head`, the beginning of a checkpoint called `name`, belongs to this shape.
Result<void> check_head(const std::string& name, std::span<const std::byte> head,
                        const ContainerList& containers, Rank rank);
std::uint64_t step_of(std::span<const std::byte> head);
/// Takes the values out of a checkpoint that was checked, read piece by piece behind its head.
Result<void> read_values(const ContainerList& containers,
                         const std::function<Result<void>(std::span<std::byte>)>& read);

}  // namespace weft::spmd
