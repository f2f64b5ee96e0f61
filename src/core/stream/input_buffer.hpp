// SPDX-License-Identifier: Apache-2.0
// InputBuffer: the input node's ring of microslices. The source writes at the head, contributions
// are sent straight out of it, and it is freed at the tail when their timeslices were consumed.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "weft/source.hpp"

namespace weft::stream {

/// Memory mapped twice back to back: [base, base + 2·size) is readable and writable, and byte i +
/// size is byte i. A range across the ring's end is therefore contiguous.
struct MirroredBytes {
  std::byte* base = nullptr;
  std::size_t size = 0;

  /// `length` ≤ size bytes at the absolute stream position.
  std::span<std::byte> at(std::uint64_t position, std::size_t length) const {
    return {base + position % size, length};
  }
};

/// Consecutive microslices in place: their descriptors, then their contents.
struct MicrosliceRun {
  std::uint64_t first = 0;
  std::uint32_t count = 0;
  std::array<std::span<const std::byte>, 2> segments{};

  std::size_t bytes() const { return segments[0].size() + segments[1].size(); }
};

/// Does not own its memory. Not thread-safe: source and machine share the driver's thread.
class InputBuffer final : public MicrosliceWriter {
 public:
  /// `descriptors.size` must be a multiple of 32. `room`: bytes that may be held at a time, 0 for
  /// as many as the memory has; with more than that contents lie over each other, and are lost.
  InputBuffer(MirroredBytes content, MirroredBytes descriptors, std::size_t room = 0);

  std::span<std::byte> reserve(std::size_t size) override;
  void commit(MicrosliceDescriptor descriptor) override;
  /// A descriptor counts a microslice's bytes in 32 bits.
  std::size_t capacity() const override {
    return std::min<std::size_t>(content_.size, std::numeric_limits<std::uint32_t>::max());
  }

  /// Numbers of the microslices held: [oldest, next).
  std::uint64_t oldest() const { return oldest_; }
  std::uint64_t next() const { return next_; }
  /// Microslices first … first+count−1, all held.
  MicrosliceRun run(std::uint64_t first, std::uint32_t count) const;
  /// Frees all microslices below `number`.
  void release_before(std::uint64_t number);
  /// Empties the buffer; the next microslice committed has this number.
  void restart_at(std::uint64_t number);
  /// Share of the content ring in use, 0 … 1.
  double fill() const { return static_cast<double>(head_ - tail_) / static_cast<double>(room_); }

 private:
  const MicrosliceDescriptor& descriptor(std::uint64_t number) const;

  MirroredBytes content_;
  MirroredBytes descriptors_;
  std::size_t room_;
  std::uint64_t slots_;
  std::uint64_t oldest_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t head_ = 0;  // absolute content positions: written up to, freed up to
  std::uint64_t tail_ = 0;
  std::size_t reserved_ = 0;
};

}  // namespace weft::stream
