// SPDX-License-Identifier: Apache-2.0
#include "emulate/block_file.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace weft::emulate {

Result<BlockFile> BlockFile::make() {
  constexpr std::uint64_t kClockMeasured = 20'000'000;  // 20 ms: a few parts in a million
  std::string path = "/dev/shm/weft-emulate-XXXXXX";
  const int file = ::mkstemp(path.data());
  if (file < 0 || ::ftruncate(file, sizeof(ControlBlock)) != 0) {
    const int why = errno;
    if (file >= 0) {
      ::close(file);
      ::unlink(path.c_str());
    }
    return Error{ErrorCode::io, fmt::format("{}: cannot be made: {}", path, std::strerror(why))};
  }
  void* memory = ::mmap(nullptr, sizeof(ControlBlock), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  if (memory == MAP_FAILED) {
    ::unlink(path.c_str());
    return Error{ErrorCode::io, fmt::format("{}: cannot be mapped", path)};
  }
  // The file is zero; what is not zero at the start is written by hand, since constructing the
  // whole would touch all of its pages.
  auto* block = static_cast<ControlBlock*>(memory);
  block->magic = kBlockMagic;
  block->clock = measure_clock(kClockMeasured);
  return BlockFile(std::move(path), block);
}

BlockFile::BlockFile(BlockFile&& other) noexcept
    : path_(std::move(other.path_)), block_(std::exchange(other.block_, nullptr)) {}

BlockFile::~BlockFile() {
  if (block_ == nullptr) return;
  ::unlink(path_.c_str());
  ::munmap(block_, sizeof(ControlBlock));
}

}  // namespace weft::emulate
