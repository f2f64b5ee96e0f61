// SPDX-License-Identifier: Apache-2.0
// Ring buffers whose memory is mapped twice, back to back: a piece that wraps around the end is
// contiguous for readers and writers. The memory is a memory file (memfd), so that other processes
// can map it too; it is entered in the table of runtime/memory/registered_memory.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/descriptor.hpp"
#include "runtime/memory/registered_memory.hpp"
#include "weft/ids.hpp"
#include "weft/result.hpp"

namespace weft {

/// A ring as one uses it; does not own the memory, is as cheap as a span. `Byte` is std::byte or
/// const std::byte.
template <class Byte>
class BasicRingView {
 public:
  BasicRingView() = default;
  /// `base` is a double mapping of `size` bytes; `size` is a power of two.
  BasicRingView(Byte* base, std::size_t size) : base_(base), mask_(size - 1) {}

  std::size_t size() const { return mask_ + 1; }
  /// Every byte once: the memory to expose to peers.
  std::span<Byte> memory() const { return {base_, size()}; }
  /// `size` contiguous bytes from the absolute position `position` of the stream that goes through
  /// the ring (its place is position modulo the ring's size). `size` is at most the ring's.
  std::span<Byte> at(std::uint64_t position, std::size_t size) const {
    WEFT_CHECK(size <= mask_ + 1, "{} bytes in a ring of {}", size, mask_ + 1);
    return {base_ + (position & mask_), size};
  }

 private:
  Byte* base_ = nullptr;
  std::size_t mask_ = static_cast<std::size_t>(-1);
};
using RingView = BasicRingView<std::byte>;
using ConstRingView = BasicRingView<const std::byte>;

/// No ring is larger: a mirror of it has to fit the address space too.
inline constexpr ByteCount largest_ring{std::uint64_t{1} << 44};

/// The smallest size that a ring can have and that is at least `size`: a power of two, at least
/// one page. `size` is at most `largest_ring`.
ByteCount ring_size_for(ByteCount size);

struct RingOptions {
  /// Asks for huge pages; ignored where the system does not grant them to shared memory
  /// (/sys/kernel/mm/transparent_hugepage/shmem_enabled).
  bool huge_pages = false;
  /// So much of each ring, at most all of it, is in memory when it is returned. The rest costs
  /// nothing until it is touched, and then the time that the system takes to find it.
  ByteCount touched{};
};

namespace detail {

/// Owns an address range: unmaps it.
class AddressRange {
 public:
  AddressRange() = default;
  AddressRange(std::byte* base, std::size_t size) : base_(base), size_(size) {}
  ~AddressRange();
  AddressRange(AddressRange&& o) noexcept
      : base_(std::exchange(o.base_, nullptr)), size_(std::exchange(o.size_, 0)) {}
  AddressRange& operator=(AddressRange&& o) noexcept {
    std::swap(base_, o.base_);
    std::swap(size_, o.size_);
    return *this;
  }
  std::byte* base() const { return base_; }

 private:
  std::byte* base_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace detail

/// `count` rings of equal size in one memory file, each mapped twice. Move-only; views stay valid
/// when it moves. A ring costs only the pages that were touched (RingOptions::touched). The file is
/// sealed: another process that gets the descriptor can only read, and cannot resize it.
class MirroredArena {
 public:
  /// `ring_size` must be a value of `ring_size_for`; `name` shows in /proc/PID/maps.
  /// Errors: invalid_argument for the size, exhausted when the system gives no memory.
  static Result<MirroredArena> create(std::size_t count, ByteCount ring_size, std::string_view name,
                                      RingOptions options = {});

  std::size_t count() const { return registrations_.size(); }
  ByteCount ring_size() const { return ring_size_; }
  RingView ring(std::size_t i) const {
    WEFT_CHECK(i < count());
    const auto size = static_cast<std::size_t>(ring_size_.value());
    return {range_.base() + 2 * i * size, size};
  }
  /// The memory file: ring i at offset i · ring_size. Owned by the arena.
  int descriptor() const { return descriptor_.get(); }

 private:
  MirroredArena() = default;
  ByteCount ring_size_{};
  Descriptor descriptor_;
  detail::AddressRange range_;
  std::vector<MemoryRegistration> registrations_;  // destroyed first: no address is listed unmapped
};

/// One ring in a memory file of its own. Move-only; views stay valid when it moves.
class MirroredRing {
 public:
  /// As MirroredArena::create with one ring.
  static Result<MirroredRing> create(ByteCount size, std::string_view name,
                                     RingOptions options = {});

  RingView view() const { return arena_.ring(0); }
  ByteCount size() const { return arena_.ring_size(); }
  /// Every byte once: the memory to expose to peers.
  std::span<std::byte> memory() const { return view().memory(); }
  /// See BasicRingView::at.
  std::span<std::byte> at(std::uint64_t position, std::size_t size) const {
    return view().at(position, size);
  }
  /// The memory file. Owned by the ring.
  int descriptor() const { return arena_.descriptor(); }

 private:
  explicit MirroredRing(MirroredArena arena) : arena_(std::move(arena)) {}
  MirroredArena arena_;
};

/// Another process's ring, read-only. Move-only; views stay valid when it moves.
class AttachedRing {
 public:
  /// Maps `size` bytes at `offset` of the memory file twice. The descriptor may be closed
  /// afterwards. Nothing is taken on trust: errors are invalid_argument when the file is too short
  /// or could still shrink (reading would then crash), or when size and offset do not fit a ring.
  static Result<AttachedRing> attach(int descriptor, ByteCount size, std::uint64_t offset = 0);

  ConstRingView view() const { return {range_.base(), static_cast<std::size_t>(size_.value())}; }
  ByteCount size() const { return size_; }
  std::span<const std::byte> memory() const { return view().memory(); }
  std::span<const std::byte> at(std::uint64_t position, std::size_t size) const {
    return view().at(position, size);
  }

 private:
  AttachedRing(detail::AddressRange range, ByteCount size)
      : range_(std::move(range)), size_(size) {}
  detail::AddressRange range_;
  ByteCount size_{};
};

}  // namespace weft
