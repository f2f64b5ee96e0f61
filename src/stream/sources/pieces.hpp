// SPDX-License-Identifier: Apache-2.0
// How file: cuts bytes into microslices, so that sinks behind the compute nodes can put them
// together again: piece p is the bytes [p·cut, (p+1)·cut), the last one perhaps shorter.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/result.hpp"

namespace weft {

/// Deals pieces to inputs in turn: microslice m of input i is piece m·inputs + i.
struct PieceGrid {
  std::uint64_t cut = 64 << 10;  ///< bytes per piece, at least 1
  std::uint32_t inputs = 1;      ///< 1 when each input reads a file of its own

  /// Offset of piece (sequence, 0): also the index (time) of the microslices of that number.
  std::uint64_t row_offset(std::uint64_t sequence) const { return sequence * inputs * cut; }
  std::uint64_t offset(std::uint64_t sequence, std::uint32_t input) const {
    return row_offset(sequence) + input * cut;
  }
  /// Bytes of the piece when there are `total`: 0 beyond the end.
  std::uint64_t size(std::uint64_t total, std::uint64_t sequence, std::uint32_t input) const;
  /// Microslices per input that carry `total` bytes.
  std::uint64_t rows(std::uint64_t total) const {
    const std::uint64_t pieces = total / cut + (total % cut != 0 ? 1 : 0);
    return pieces / inputs + (pieces % inputs != 0 ? 1 : 0);
  }
};

/// The bytes of a file, or of all ordinary files below a directory in the byte order of their paths
/// (`find DIR -type f | LC_ALL=C sort`), as one. Sizes are those at the time of opening.
class FileList {
 public:
  struct Entry {
    std::string path;
    std::uint64_t begin = 0;
    std::uint64_t size = 0;
  };

  static Result<FileList> open(const std::string& path);
  ~FileList();
  FileList(FileList&& other) noexcept;
  FileList& operator=(FileList&& other) noexcept;

  const std::vector<Entry>& entries() const { return entries_; }
  std::uint64_t total() const { return total_; }
  /// Fills `into` with the bytes from `offset` on; an error when a file became shorter.
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

/// SHA-256 of all bytes of a file or a directory, in the order of FileList, as hexadecimal digits.
Result<std::string> sha256_of(const std::string& path);

}  // namespace weft
