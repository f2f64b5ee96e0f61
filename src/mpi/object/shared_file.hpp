// SPDX-License-Identifier: Apache-2.0
// SharedFile: names an open file of one process to the other processes of its host.
#pragma once

#include <cstdint>

#include "base/descriptor.hpp"

namespace weft::mpi {

/// A file without a name, which other processes of its host open by a number of its owner's. It
/// travels between processes as it is.
struct SharedFile {
  std::uint64_t bytes = 0;
  std::int64_t process = 0, descriptor = -1;
  std::uint64_t device = 0, inode = 0;

  /// Without an inode: there is no such file.
  static SharedFile of(const Descriptor& file, std::uint64_t bytes);
  /// Not open: it is not this one, or not to be had.
  Descriptor open() const;
};

}  // namespace weft::mpi
