// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory/mirrored_ring.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/make_error.hpp"
#include "base/units.hpp"

namespace weft {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;

std::uint64_t page_size() {
  static const auto size = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

bool fits_ring(ByteCount size) {
  return std::has_single_bit(size.value()) && size.value() >= page_size() && size <= largest_ring;
}

Error system_error(std::string_view what, ByteCount size) {
  const ErrorCode code =
      errno == ENOMEM || errno == EMFILE || errno == ENFILE ? ErrorCode::exhausted : ErrorCode::io;
  return {code, fmt::format("{} for {} of ring buffers: {}; use smaller buffers or raise the limit",
                            what, to_text(size), std::strerror(errno))};
}

// Address space that nothing else can take while the rings are put into it.
Result<detail::AddressRange> reserve(std::size_t size, std::size_t alignment) {
  const std::size_t with_slack = size + alignment;
  void* const p =
      ::mmap(nullptr, with_slack, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return system_error("cannot reserve addresses", ByteCount(size));
  auto* const start = static_cast<std::byte*>(p);
  const std::size_t lead =
      (alignment - reinterpret_cast<std::uintptr_t>(start) % alignment) % alignment;
  if (lead > 0) ::munmap(start, lead);
  if (alignment > lead) ::munmap(start + lead + size, alignment - lead);
  return detail::AddressRange(start + lead, size);
}

Result<void> map_twice(std::byte* at, std::size_t size, int descriptor, std::uint64_t offset,
                       int protection) {
  for (std::byte* half : {at, at + size}) {
    void* const p = ::mmap(half, size, protection, MAP_SHARED | MAP_FIXED, descriptor,
                           static_cast<off_t>(offset));
    if (p == MAP_FAILED) return system_error("cannot map memory", ByteCount(size));
  }
  return {};
}

Result<Descriptor> make_memory_file(ByteCount total, std::string_view name) {
  Descriptor file(::memfd_create(std::string(name).c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (file.get() < 0) return system_error("cannot make a memory file", total);
  if (::ftruncate(file.get(), static_cast<off_t>(total.value())) != 0) {
    return system_error("cannot size a memory file", total);
  }
  return file;
}

/// Also where the system has pages at hand, it may find out only at the first use where they are:
/// so each is used. They are empty before and after.
void touch(std::byte* memory, std::size_t size) {
  // Kernels before 5.14 cannot do that. No memory: whoever needs it will hear of that.
  if (size == 0 || (::madvise(memory, size, MADV_POPULATE_WRITE) != 0 && errno != EINVAL)) return;
  for (std::size_t i = 0; i < size; i += page_size()) {
    *static_cast<volatile std::byte*>(memory + i) = std::byte{};
  }
}

}  // namespace

namespace detail {

AddressRange::~AddressRange() {
  if (base_ != nullptr) ::munmap(base_, size_);
}

}  // namespace detail

ByteCount ring_size_for(ByteCount size) {
  WEFT_CHECK(size <= largest_ring, "a ring of {}", to_text(size));
  return ByteCount(std::bit_ceil(std::max(size.value(), page_size())));
}

Result<MirroredArena> MirroredArena::create(std::size_t count, ByteCount ring_size,
                                            std::string_view name, RingOptions options) {
  if (!fits_ring(ring_size) || count == 0 || count > largest_ring.value() / ring_size.value()) {
    return invalid(
        "{} ring buffers of {} bytes are impossible: the size must be a power of two and at least "
        "{}",
        count, ring_size.value(), page_size());
  }
  const auto size = static_cast<std::size_t>(ring_size.value());
  const ByteCount total = ring_size * count;
  auto file = make_memory_file(total, name);
  if (!file) return std::move(file).error();
  auto range = reserve(2 * size * count, size >= huge_page ? huge_page : page_size());
  if (!range) return std::move(range).error();
  for (std::size_t i = 0; i < count; ++i) {
    std::byte* const base = range->base() + 2 * i * size;
    if (auto r = map_twice(base, size, file->get(), i * size, PROT_READ | PROT_WRITE); !r) {
      return std::move(r).error();
    }
  }
  if (options.huge_pages) ::madvise(range->base(), 2 * size * count, MADV_HUGEPAGE);
  const auto touched = static_cast<std::size_t>(std::min(options.touched, ring_size).value());
  for (std::size_t i = 0; i < count; ++i) touch(range->base() + 2 * i * size, touched);
  // Sealed after our own mapping: from here on nobody else can write or resize.
  if (::fcntl(file->get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE) != 0) {
    return system_error("cannot seal a memory file", total);
  }
  MirroredArena arena;
  arena.ring_size_ = ring_size;
  arena.descriptor_ = std::move(*file);
  arena.range_ = std::move(*range);
  arena.registrations_.reserve(count);
  const std::uint64_t id = next_memory_file();
  for (std::size_t i = 0; i < count; ++i) {
    arena.registrations_.emplace_back(arena.range_.base() + 2 * i * size, id,
                                      arena.descriptor_.get(), i * size, ring_size);
  }
  return arena;
}

Result<MirroredRing> MirroredRing::create(ByteCount size, std::string_view name,
                                          RingOptions options) {
  auto arena = MirroredArena::create(1, size, name, options);
  if (!arena) return std::move(arena).error();
  return MirroredRing(std::move(*arena));
}

Result<AttachedRing> AttachedRing::attach(int descriptor, ByteCount size, std::uint64_t offset) {
  struct stat info {};
  if (!fits_ring(size) || offset % page_size() != 0 || ::fstat(descriptor, &info) != 0 ||
      size.value() > static_cast<std::uint64_t>(info.st_size) ||
      offset > static_cast<std::uint64_t>(info.st_size) - size.value()) {
    return invalid("a ring of {} bytes at {} does not fit the shared memory given", size.value(),
                   offset);
  }
  const int seals = ::fcntl(descriptor, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
    return Error{ErrorCode::invalid_argument,
                 "the shared memory given can shrink: not made by a ring buffer of weft"};
  }
  const auto bytes = static_cast<std::size_t>(size.value());
  auto range = reserve(2 * bytes, page_size());
  if (!range) return std::move(range).error();
  if (auto r = map_twice(range->base(), bytes, descriptor, offset, PROT_READ); !r) {
    return std::move(r).error();
  }
  return AttachedRing(std::move(*range), size);
}

}  // namespace weft
