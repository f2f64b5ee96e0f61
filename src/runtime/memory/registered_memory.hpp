// SPDX-License-Identifier: Apache-2.0
// A process-wide table of memory that other processes can map: address → (memory file, offset).
// Rings enter themselves; the shm sink looks its timeslices up to share them in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "weft/ids.hpp"

namespace weft {

/// The place of bytes of this process in a memory file that can be passed to another process.
struct SharedPlace {
  std::uint64_t file = 0;         ///< identity of the memory file; never reused in this process
  int descriptor = -1;            ///< of the memory file; owned by the ring
  std::uint64_t ring_offset = 0;  ///< start of the ring in the file, bytes
  ByteCount ring_size{};          ///< of the ring, which is mapped twice back to back
  std::uint64_t position = 0;     ///< of the bytes in the double mapping, in [0, 2·ring_size)
};

/// The place of `bytes`, or nothing when no registered ring holds all of them. The answer stays
/// true for as long as the ring lives. Any thread; takes a shared lock.
std::optional<SharedPlace> find_shared_place(std::span<const std::byte> bytes);

/// Enters one ring on construction and removes it on destruction. Move-only; any thread.
class MemoryRegistration {
 public:
  MemoryRegistration() = default;
  /// `base` is the double mapping: 2·ring_size bytes. `file` comes from `next_memory_file`.
  MemoryRegistration(const std::byte* base, std::uint64_t file, int descriptor,
                     std::uint64_t ring_offset, ByteCount ring_size);
  ~MemoryRegistration();
  MemoryRegistration(MemoryRegistration&& other) noexcept : base_(other.base_) {
    other.base_ = nullptr;
  }
  MemoryRegistration& operator=(MemoryRegistration&& other) noexcept;

 private:
  const std::byte* base_ = nullptr;
};

/// A number for a new memory file.
std::uint64_t next_memory_file();

}  // namespace weft
