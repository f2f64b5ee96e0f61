// SPDX-License-Identifier: Apache-2.0
#include "wire/archive/component.hpp"

#include "base/check.hpp"
#include "base/make_error.hpp"

namespace weft::wire {

Result<ComponentReader> ComponentReader::open(std::span<const std::byte> data,
                                              std::uint64_t num_microslices) {
  constexpr std::uint64_t descriptor_size = sizeof(MicrosliceDescriptor);
  if (num_microslices > data.size() / descriptor_size) {
    return corrupt("{} microslice descriptors of 32 bytes do not fit the component's {} bytes",
                   num_microslices, data.size());
  }
  const ComponentReader reader(data, num_microslices);
  if (num_microslices == 0) return reader;
  const std::uint64_t room = data.size() - num_microslices * descriptor_size;
  const std::uint64_t first = reader.descriptor(0).offset;
  for (std::uint64_t m = 0; m < num_microslices; ++m) {
    const MicrosliceDescriptor d = reader.descriptor(m);
    // Unsigned wrap-around makes an offset before the first one a huge one, which is refused.
    const std::uint64_t at = d.offset - first;
    if (at > room || d.size > room - at) {
      return make_error(
          ErrorCode::corrupt,
          "microslice {} of {} bytes at offset {} reaches beyond the {} bytes of content", m,
          std::uint32_t{d.size}, at, room);
    }
  }
  return reader;
}

MicrosliceView ComponentReader::microslice(std::uint64_t m) const {
  WEFT_CHECK(m < num_microslices_);
  const MicrosliceDescriptor d = descriptor(m);
  const std::uint64_t contents = num_microslices_ * sizeof(MicrosliceDescriptor);
  return {d, data_.subspan(contents + (d.offset - descriptor(0).offset), d.size)};
}

}  // namespace weft::wire
