// SPDX-License-Identifier: Apache-2.0
#include "emulate/block_file.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/make_error.hpp"

namespace weft::emulate {

Result<BlockFile> BlockFile::make() {
  constexpr std::uint64_t kClockMeasured = 20'000'000;  // 20 ms: a few parts in a million
  // No file that would stay when weft is killed: others open it by way of this process.
  const int file = ::memfd_create("weft-emulate", MFD_CLOEXEC);
  if (file < 0 || ::ftruncate(file, sizeof(ControlBlock)) != 0) {
    const int why = errno;
    if (file >= 0) ::close(file);
    return make_error(ErrorCode::io, "no memory to share with ranks: {}", std::strerror(why));
  }
  std::string path = fmt::format("/proc/{}/fd/{}", ::getpid(), file);
  void* memory = ::mmap(nullptr, sizeof(ControlBlock), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) {
    ::close(file);
    return make_error(ErrorCode::io, "{}: cannot be mapped", path);
  }
  // The file is zero. Members that do not start at zero are written by hand, since constructing
  // the whole block would touch all of its pages.
  auto* block = static_cast<ControlBlock*>(memory);
  block->magic = kBlockMagic;
  block->clock = measure_clock(kClockMeasured);
  return BlockFile(file, std::move(path), block);
}

BlockFile::BlockFile(BlockFile&& other) noexcept
    : file_(other.file_),
      path_(std::move(other.path_)),
      block_(std::exchange(other.block_, nullptr)) {}

BlockFile::~BlockFile() {
  if (block_ == nullptr) return;
  ::munmap(block_, sizeof(ControlBlock));
  ::close(file_);
}

}  // namespace weft::emulate
