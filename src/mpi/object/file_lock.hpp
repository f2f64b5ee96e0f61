// SPDX-License-Identifier: Apache-2.0
// FileLock: keeps other processes away from a file.
#pragma once

namespace weft::mpi {

/// A lock of the whole file between processes, while it lives. Best effort on file systems without
/// locks.
class FileLock {
 public:
  FileLock(int descriptor, bool writes, bool is_wanted = true);
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

 private:
  int descriptor_;
};

}  // namespace weft::mpi
