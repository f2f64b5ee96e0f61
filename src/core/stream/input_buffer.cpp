// SPDX-License-Identifier: Apache-2.0
#include "core/stream/input_buffer.hpp"

#include <cstring>

#include "base/check.hpp"

namespace weft::stream {

InputBuffer::InputBuffer(MirroredBytes content, MirroredBytes descriptors, std::size_t room)
    : content_(content),
      descriptors_(descriptors),
      room_(std::max(room, content.size)),
      slots_(descriptors.size / sizeof(MicrosliceDescriptor)) {
  WEFT_CHECK(descriptors.size % sizeof(MicrosliceDescriptor) == 0 && slots_ > 0);
  WEFT_CHECK(content.size > 0);
}

std::span<std::byte> InputBuffer::reserve(std::size_t size) {
  WEFT_CHECK(size <= capacity(),
             "a microslice of {} bytes never fits an input buffer that takes {}", size, capacity());
  if (next_ - oldest_ == slots_ || head_ + size - tail_ > room_) return {};
  reserved_ = size;
  return content_.at(head_, size);
}

void InputBuffer::commit(MicrosliceDescriptor descriptor) {
  descriptor.size = static_cast<std::uint32_t>(reserved_);
  descriptor.offset = head_;
  const auto slot = descriptors_.at(next_ * sizeof descriptor, sizeof descriptor);
  std::memcpy(slot.data(), &descriptor, sizeof descriptor);
  head_ += reserved_;
  reserved_ = 0;
  ++next_;
}

const MicrosliceDescriptor& InputBuffer::descriptor(std::uint64_t number) const {
  const auto slot = descriptors_.at(number * sizeof(MicrosliceDescriptor), 0);
  return *reinterpret_cast<const MicrosliceDescriptor*>(slot.data());
}

MicrosliceRun InputBuffer::run(std::uint64_t first, std::uint32_t count) const {
  WEFT_CHECK(first >= oldest_ && first + count <= next_, "microslices {}+{} are not in [{}, {})",
             first, count, oldest_, next_);
  MicrosliceRun run{.first = first, .count = count};
  if (count == 0) return run;
  const auto& begin = descriptor(first);
  const auto& last = descriptor(first + count - 1);
  run.segments[0] = descriptors_.at(first * sizeof begin, count * sizeof begin);
  run.segments[1] = content_.at(begin.offset, last.offset + last.size - begin.offset);
  return run;
}

void InputBuffer::release_before(std::uint64_t number) {
  WEFT_CHECK(number <= next_);
  if (number <= oldest_) return;
  tail_ = number == next_ ? head_ : descriptor(number).offset;
  oldest_ = number;
}

void InputBuffer::restart_at(std::uint64_t number) {
  oldest_ = next_ = number;
  tail_ = head_;
  reserved_ = 0;
}

}  // namespace weft::stream
