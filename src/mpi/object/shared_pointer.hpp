// SPDX-License-Identifier: Apache-2.0
// SharedPointer: the pointer of a file that its processes share, as the content of a small file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/descriptor.hpp"
#include "mpi/object/file_lock.hpp"

namespace weft::mpi {

/// One process's view of the pointer. A process may be killed between two instructions: its next
/// life, which names its moves alike, learns what a move of the earlier life gave, and does not
/// move the pointer again, also when others have moved it since.
class SharedPointer {
 public:
  /// Names a move: the process's rank, and the number of its moves so far, from 1.
  struct Move {
    std::uint32_t rank = 0;
    std::uint64_t number = 0;
  };

  /// The small file is created by the first use.
  void set_path(std::string path) { path_ = std::move(path); }
  const std::string& path() const { return path_; }
  void close() { file_ = {}; }

  /// Adds elements and returns the value before that; −1: an error of the system. The file stays
  /// locked as long as `lock` lives: the caller records the result meanwhile.
  std::int64_t add(std::int64_t elements, const Move& move, std::optional<FileLock>& lock);
  /// Sets the value and returns the one before, likewise.
  std::int64_t set(std::int64_t value, const Move& move, std::optional<FileLock>& lock);
  /// Returns the value, likewise.
  std::int64_t get(std::optional<FileLock>& lock);

 private:
  /// The result of a process's last move.
  struct Moved {
    std::uint64_t number = 0;
    std::int64_t before = 0;
  };
  /// At the small file's start, written at once. Behind it are the processes' moves before the last
  /// one of all, by rank.
  struct Head {
    std::int64_t value = 0;
    Moved last;
    std::uint64_t rank = 0;  ///< whose move that was
  };

  bool open(std::optional<FileLock>& lock);
  template <class After>
  std::int64_t move(const Move& move, std::optional<FileLock>& lock, After&& after);

  std::string path_;
  Descriptor file_;
};

}  // namespace weft::mpi
