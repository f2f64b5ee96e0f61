// SPDX-License-Identifier: Apache-2.0
// Shared memory for one ring: made by its consumer, found by its producer through /proc, and gone
// with the last of the two processes, however they end. It never has a name.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "fabric/shm/ring.hpp"
#include "fabric/tcp/socket.hpp"
#include "weft/result.hpp"

namespace weft::shm {

inline constexpr std::size_t kSmallestRing = 16 * 1024;
inline constexpr std::size_t kLargestRing = std::size_t{256} << 20;

/// The name by which another process finds a segment. Values may come from anywhere.
struct SegmentName {
  std::uint32_t process = 0;     ///< its maker's process id
  std::uint32_t descriptor = 0;  ///< the descriptor in that process
  std::uint64_t nonce = 0;       ///< the segment's own
  std::uint64_t ring_size = 0;   ///< bytes
};

/// Mapped memory with a ring in it. Unmapped with its owner.
class Segment {
 public:
  /// New memory for a ring of `ring_size` bytes, a power of two, all zero. It cannot shrink any
  /// more, so that no other process makes this one's accesses fail. Forked processes do not have
  /// it.
  static Result<Segment> make(std::size_t ring_size, std::uint64_t nonce);
  /// The memory that another process of this user made. Errors: unavailable when it is not reached
  /// or belongs to another user, corrupt when it is something else.
  static Result<Segment> find(const SegmentName& name);

  Segment() = default;
  Segment(Segment&& other) noexcept { *this = std::move(other); }
  Segment& operator=(Segment&& other) noexcept;
  ~Segment();

  bool is_open() const { return !memory_.empty(); }
  RingMemory ring() const { return RingMemory::at(memory_); }
  SegmentName name() const { return name_; }
  /// Once the other side has mapped it: nobody finds it from now on.
  void forget_descriptor() { descriptor_.reset(); }

 private:
  Result<void> map(std::size_t ring_size);

  Descriptor descriptor_;
  std::span<std::byte> memory_;
  SegmentName name_;
};

/// Checks whether this process can make a segment and find it again; the error names the obstacle.
Result<void> check_segments();

/// Another process's memory, and how to see that it is still that one's: numbers of processes are
/// used again.
struct OtherMemory {
  pid_t process = -1;
  std::uint64_t probe = 0;  ///< address of a word there
  std::uint64_t nonce = 0;  ///< the value of that word
};

/// Copies at most `size` bytes from `source` there to `target` here. Returns how many were copied;
/// less than zero, with errno, when this process may not (EPERM), or when the other is gone
/// (ESRCH): the bytes at `target` then mean nothing.
ssize_t copy_from(const OtherMemory& other, std::uint64_t source, std::byte* target,
                  std::size_t size);

}  // namespace weft::shm
