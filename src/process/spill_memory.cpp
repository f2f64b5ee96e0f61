// SPDX-License-Identifier: Apache-2.0
#include "process/spill_memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>

namespace weft {
namespace {

constexpr std::uint64_t page = 4096;
/// Most processes keep less. A chunk takes 2 MiB at once; on the heap the kernel spends 50 ns and
/// more on the pages of a short message.
constexpr std::uint64_t worth_a_chunk = 128 << 10;

std::uint64_t in_pages(std::uint64_t bytes) {
  return (bytes + page - 1) / page * page;
}

}  // namespace

Result<std::unique_ptr<SpillMemory>> SpillMemory::open(ByteCount on_heap,
                                                       const std::string& directory) {
  std::unique_ptr<SpillMemory> memory(new SpillMemory(on_heap));
  if (directory.empty()) return memory;
  memory->file_ = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (memory->file_ < 0) {
    const bool wrong_name = errno == ENOTDIR || errno == ENOENT || errno == EISDIR;
    return Error{wrong_name ? ErrorCode::invalid_argument : ErrorCode::io,
                 fmt::format("--spill: '{}': {}; name a directory that can be written to",
                             directory, std::strerror(errno))};
  }
  return memory;
}

SpillMemory::~SpillMemory() {
  if (file_ >= 0) ::close(file_);
}

std::byte* SpillMemory::allocate(std::size_t bytes) {
  if (bytes > limit_ - std::min(limit_, used_)) return spill(bytes);
  std::byte* const memory = used_ + bytes > worth_a_chunk
                                ? blocks_.allocate(bytes)
                                : static_cast<std::byte*>(::operator new(bytes, std::nothrow));
  if (memory != nullptr) used_ += bytes;
  return memory;
}

// Space is reserved first: a full disk is then known here, and not when the memory is written to.
std::byte* SpillMemory::spill(std::size_t bytes) {
  const std::uint64_t size = in_pages(bytes);
  if (file_ < 0) return nullptr;
  if (::posix_fallocate(file_, static_cast<off_t>(file_end_), static_cast<off_t>(size)) != 0) {
    return nullptr;
  }
  void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file_,
                    static_cast<off_t>(file_end_));
  if (at == MAP_FAILED) return nullptr;
  auto* memory = static_cast<std::byte*>(at);
  mapped_.emplace(memory, file_end_);
  file_end_ += size;
  spilled_ += size;
  return memory;
}

void SpillMemory::free(std::byte* memory, std::size_t bytes) {
  const auto found = mapped_.find(memory);
  if (found == mapped_.end()) {
    used_ -= bytes;
    if (!blocks_.free(memory)) ::operator delete(memory);
    return;
  }
  const std::uint64_t size = in_pages(bytes);
  ::munmap(memory, size);
  // The blocks go back to the disk; the file's length stays.
  (void)::fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    static_cast<off_t>(found->second), static_cast<off_t>(size));
  spilled_ -= size;
  mapped_.erase(found);
}

}  // namespace weft
