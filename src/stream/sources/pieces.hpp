// SPDX-License-Identifier: Apache-2.0
// How the source file: cuts bytes into microslices, so that sinks behind the compute nodes can put
// them together again. Piece p is the bytes [p·cut, (p+1)·cut); the last piece may be shorter.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stream/uri.hpp"
#include "weft/result.hpp"

namespace weft {

/// Returns the key `cut` of a source or sink file:, in bytes. Errors: it is no size, 0 or above 1
/// GiB.
Result<ByteCount> piece_size(const Uri& uri);

/// Deals pieces to inputs in turn: microslice m of input i is piece m·inputs + i.
struct PieceGrid {
  std::uint64_t cut = 64 << 10;  ///< bytes per piece, at least 1
  std::uint32_t inputs = 1;      ///< 1 when each input reads a file of its own

  /// Returns the offset of the first input's piece of that number, in bytes. It is also the index
  /// (start time) of all inputs' microslices of that number.
  std::uint64_t row_offset(std::uint64_t sequence) const { return sequence * inputs * cut; }
  std::uint64_t offset(std::uint64_t sequence, std::uint32_t input) const {
    return row_offset(sequence) + input * cut;
  }
  /// Returns the bytes of a piece when all pieces have `total`; 0 beyond the end.
  std::uint64_t size(std::uint64_t total, std::uint64_t sequence, std::uint32_t input) const;
  /// Returns how many microslices of each input carry `total` bytes.
  std::uint64_t rows(std::uint64_t total) const {
    const std::uint64_t pieces = total / cut + (total % cut != 0 ? 1 : 0);
    return pieces / inputs + (pieces % inputs != 0 ? 1 : 0);
  }
};

/// The bytes of a file, or of all ordinary files below a directory, as one sequence. Files follow
/// each other in the byte order of their paths (`find DIR -type f | LC_ALL=C sort`). Sizes are
/// those at the time of opening. One thread.
class FileList {
 public:
  struct Entry {
    std::string path;
    std::uint64_t begin = 0;  ///< offset of the file's first byte in the sequence
    std::uint64_t size = 0;   ///< bytes
  };

  /// Errors: the path is neither a file nor a directory; a file or directory cannot be read.
  static Result<FileList> open(const std::string& path);
  ~FileList();
  FileList(FileList&& other) noexcept;
  FileList& operator=(FileList&& other) noexcept;

  const std::vector<Entry>& entries() const { return entries_; }
  std::uint64_t total() const { return total_; }
  /// Fills `into` with the bytes from `offset` on, which must all be below `total`. Errors: a file
  /// became shorter, or cannot be read.
  Result<void> read(std::uint64_t offset, std::span<std::byte> into);

 private:
  FileList() = default;
  Result<void> add(std::string path);
  Result<void> switch_to(std::size_t entry);

  std::vector<Entry> entries_;
  std::uint64_t total_ = 0;
  std::size_t open_entry_ = SIZE_MAX;
  int descriptor_ = -1;
};

}  // namespace weft
