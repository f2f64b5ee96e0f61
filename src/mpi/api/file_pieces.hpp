// SPDX-License-Identifier: Apache-2.0
// Pieces: the consecutive bytes of a file that an access through a view consists of.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "mpi/api/files.hpp"

namespace weft::mpi {

enum class Direction : std::uint8_t { read, write };

/// System calls by which this process read and wrote files, for MPI_T.
struct FileCounts {
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
};
FileCounts& file_counts();

struct FilePiece {
  std::int64_t place = 0;
  std::uint64_t bytes = 0;
};

/// Calls `visit` for each piece of `bytes` bytes of the view's stream from `begin` on, in the
/// stream's order, until it returns false. Pieces that touch are one.
template <class Visit>
void for_pieces(const FileView& view, std::uint64_t begin, std::uint64_t bytes, Visit&& visit) {
  if (bytes == 0) return;
  const Datatype& layout = view.layout;
  if (layout.is_contiguous()) return void(visit(FilePiece{view.place_of(begin), bytes}));
  std::int64_t tile =
      view.displacement + static_cast<std::int64_t>(begin / layout.size()) * layout.extent();
  std::uint64_t skip = begin % layout.size();
  FilePiece piece;
  for (;; tile += layout.extent()) {
    for (const Run& run : layout.runs()) {
      if (skip >= run.bytes) {
        skip -= run.bytes;
        continue;
      }
      const std::int64_t place = tile + run.offset + static_cast<std::int64_t>(skip);
      const std::uint64_t length = std::min(run.bytes - skip, bytes);
      skip = 0;
      bytes -= length;
      if (place == piece.place + static_cast<std::int64_t>(piece.bytes)) {
        piece.bytes += length;
      } else {
        if (piece.bytes > 0 && !visit(piece)) return;
        piece = {place, length};
      }
      if (bytes == 0) return void(visit(piece));
    }
  }
}

/// Bytes that were accessed, fewer at the end of a file; −1: an error of the system.
std::int64_t access_piece(int descriptor, Direction direction, std::byte* memory,
                          const FilePiece& piece);
/// The same for consecutive bytes of the view's stream, from `begin` on.
std::int64_t access_view(const FileObject& file, Direction direction, std::span<std::byte> memory,
                         std::uint64_t begin);

}  // namespace weft::mpi
