// SPDX-License-Identifier: Apache-2.0
#include "mpi/api/file_pieces.hpp"

#include <unistd.h>

#include <cerrno>

namespace weft::mpi {

FileCounts& file_counts() {
  static FileCounts counts;
  return counts;
}

std::int64_t access_piece(int descriptor, Direction direction, std::byte* memory,
                          const FilePiece& piece) {
  const bool reads = direction == Direction::read;
  std::uint64_t& calls = reads ? file_counts().reads : file_counts().writes;
  std::uint64_t done = 0;
  while (done < piece.bytes) {
    const auto at = piece.place + static_cast<std::int64_t>(done);
    const ssize_t n = reads ? ::pread(descriptor, memory + done, piece.bytes - done, at)
                            : ::pwrite(descriptor, memory + done, piece.bytes - done, at);
    ++calls;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -1;
    if (n == 0) break;
    done += static_cast<std::uint64_t>(n);
  }
  return static_cast<std::int64_t>(done);
}

namespace {

std::int64_t access_pieces(const FileObject& file, Direction direction, std::span<std::byte> memory,
                           std::uint64_t begin) {
  std::int64_t done = 0;
  bool failed = false;
  for_pieces(file.view, begin, memory.size(), [&](const FilePiece& piece) {
    const std::int64_t n = access_piece(file.descriptor, direction, memory.data() + done, piece);
    failed = n < 0;
    if (!failed) done += n;
    return n == static_cast<std::int64_t>(piece.bytes);
  });
  return failed ? -1 : done;
}

}  // namespace

std::int64_t access_view(const FileObject& file, Direction direction, std::span<std::byte> memory,
                         std::uint64_t begin) {
  const auto access = [&] { return access_pieces(file, direction, memory, begin); };
  return direction == Direction::write ? write_once(memory.size(), access) : access();
}

}  // namespace weft::mpi
