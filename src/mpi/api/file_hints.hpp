// SPDX-License-Identifier: Apache-2.0
// Hints: what a program says about its collective accesses to a file, by keys of an info object.
#pragma once

#include <cstdint>

#include "mpi/abi/abi.hpp"

namespace weft::mpi {

/// Whether processes gather the pieces of a collective access.
enum class Gathering : std::int64_t {
  automatic,  ///< where pieces of several processes are short and interleaved
  enable,
  disable,
};

/// The same in all processes of a file.
struct FileHints {
  Gathering write = Gathering::automatic;
  Gathering read = Gathering::automatic;
  std::int64_t nodes = 1;        ///< processes that access the file for all
  std::int64_t short_write = 0;  ///< pieces of so many bytes are not short
  std::int64_t short_read = 0;
  std::int64_t buffer_bytes = 4 * 1024 * 1024;  ///< that each of them accesses at a time
};

struct Call;
struct FileObject;
/// Sets keys of the file's info to those of `info`, of this process alone.
int add_hints(const Call& call, FileObject& file, MPI_Info info);
/// Makes the first process's hints those of all, and shows them in the file's info. Collective.
int agree_on_hints(const Call& call, FileObject& file);

}  // namespace weft::mpi
