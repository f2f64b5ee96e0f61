// SPDX-License-Identifier: Apache-2.0
// Collective accesses in two phases: a few processes, the aggregators, read or write what lies in
// large stripes of the file, and exchange it with those whose pieces it is.
#pragma once

#include <cstdint>
#include <span>

#include "mpi/api/file_pieces.hpp"

namespace weft::mpi {

/// An access of all processes of the file, each to its own part of the file by its own view: by
/// aggregators where that pays, and each by itself elsewhere. As `access_view`; `errno` is the
/// same in all processes when the aggregators had an error.
std::int64_t access_together(const FileObject& file, Direction direction,
                             std::span<std::byte> memory, std::uint64_t begin);
/// For a process that cannot take part in such an access: the others do not wait for it.
void miss_together(const FileObject& file, Direction direction);

}  // namespace weft::mpi
