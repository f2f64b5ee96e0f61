// SPDX-License-Identifier: Apache-2.0
#include "mpi/object/board_agreement.hpp"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/descriptor.hpp"
#include "mpi/object/shared_file.hpp"

namespace weft::mpi {
namespace {

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}
template <class T>
std::span<std::byte> room_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

/// Not open: there is no memory.
Descriptor make_file(std::size_t bytes) {
  Descriptor file(::memfd_create("weft-board", MFD_CLOEXEC));
  if (!file.open() || ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) return {};
  return file;
}

/// Null: it cannot be mapped, or has another size.
std::shared_ptr<std::byte> map(const Descriptor& file, std::size_t bytes) {
  struct stat about {};
  if (!file.open() || ::fstat(file.get(), &about) != 0) return nullptr;
  if (!S_ISREG(about.st_mode) || static_cast<std::uint64_t>(about.st_size) != bytes) return nullptr;
  void* const memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file.get(), 0);
  if (memory == MAP_FAILED) return nullptr;
  return {static_cast<std::byte*>(memory), [bytes](std::byte* begin) { ::munmap(begin, bytes); }};
}

/// The first member's value, everywhere.
void tell_first(Transfer& transfer, const Group& group, SharedFile& first) {
  bool sent = false, came = group.rank == 0;
  if (group.rank == 0) {
    for (std::uint32_t i = 1; i < group.size(); ++i) {
      transfer.send_short(group, i, bytes_of(first), sent);
    }
  } else {
    transfer.receive_short(group, 0, room_of(first), came);
  }
  transfer.until([&] { return came; });
}

/// Whether all say so.
bool agree(Transfer& transfer, const Group& group, std::uint8_t own) {
  std::array<std::uint8_t, Board::most_members> all{};
  std::array<bool, Board::most_members> came{};
  bool sent = false;
  all[group.rank] = own;
  came[group.rank] = true;
  for (std::uint32_t i = 0; i < group.size(); ++i) {
    if (i != group.rank) transfer.send_short(group, i, bytes_of(own), sent);
  }
  for (std::uint32_t i = 0; i < group.size(); ++i) {
    if (i != group.rank) transfer.receive_short(group, i, room_of(all[i]), came[i]);
  }
  const auto members = static_cast<std::ptrdiff_t>(group.size());
  transfer.until([&] { return std::count(came.begin(), came.begin() + members, false) == 0; });
  return std::count(all.begin(), all.begin() + members, 1) == members;
}

}  // namespace

void agree_on_board(Transfer& transfer, const Group& group) {
  const std::size_t bytes = Board::memory_bytes(group.size());
  const bool can = transfer.can_have_board(group);
  // Open until all have opened it.
  const Descriptor own = can && group.rank == 0 ? make_file(bytes) : Descriptor();
  SharedFile first = SharedFile::of(own, bytes);
  tell_first(transfer, group, first);
  if (transfer.failure()) return;
  std::shared_ptr<std::byte> memory;
  if (can && group.rank == 0) memory = map(own, bytes);
  if (can && group.rank != 0 && first.inode != 0) memory = map(first.open(), bytes);
  const bool all_can = agree(transfer, group, memory != nullptr ? 1 : 0);
  if (transfer.failure() || !all_can) return;
  transfer.set_board(group, std::make_unique<Board>(std::move(memory), group.size(), group.rank));
}

}  // namespace weft::mpi
