// SPDX-License-Identifier: Apache-2.0
#include "spmd/memory.hpp"

#include <algorithm>
#include <cstring>

#include "base/check.hpp"

namespace weft::spmd {

Block block_in(std::byte* first, const Box& whole, const Box& part, std::size_t element_size) {
  const auto size = static_cast<std::ptrdiff_t>(element_size);
  Block block;
  block.row_stride = whole.extent(0) * size;
  block.plane_stride = whole.extent(1) * block.row_stride;
  block.first = first + (part.from.x() - whole.from.x()) * size +
                (part.from.y() - whole.from.y()) * block.row_stride +
                (part.from.z() - whole.from.z()) * block.plane_stride;
  block.row = static_cast<std::size_t>(part.extent(0)) * element_size;
  block.rows = part.extent(1);
  block.planes = part.extent(2);
  if (block.rows == 1 || part.extent(0) == whole.extent(0)) {
    block.row *= static_cast<std::size_t>(block.rows);
    const bool whole_planes = block.rows == whole.extent(1) && part.extent(0) == whole.extent(0);
    block.rows = 1;
    if (block.planes == 1 || whole_planes) {
      block.row *= static_cast<std::size_t>(block.planes);
      block.planes = 1;
    }
  }
  return block;
}

std::byte* pack(const Block& block, std::byte* out) {
  for (std::int64_t z = 0; z < block.planes; ++z) {
    for (std::int64_t y = 0; y < block.rows; ++y) {
      std::memcpy(out, block.at(y, z), block.row);
      out += block.row;
    }
  }
  return out;
}

const std::byte* unpack(const Block& block, const std::byte* in) {
  for (std::int64_t z = 0; z < block.planes; ++z) {
    for (std::int64_t y = 0; y < block.rows; ++y) {
      std::memcpy(block.at(y, z), in, block.row);
      in += block.row;
    }
  }
  return in;
}

void copy(const Block& from, const Block& to, const Box& shape, std::size_t element_size) {
  if (from.first == to.first) return;
  if (from.is_contiguous() && to.is_contiguous()) {
    std::memcpy(to.first, from.first, from.row);
    return;
  }
  for_each_row(
      to, from, shape, element_size,
      [](std::byte* out, const std::byte* in, std::size_t bytes) { std::memcpy(out, in, bytes); });
}

void fill(const Block& block, std::span<const std::byte> value) {
  const bool zero =
      std::all_of(value.begin(), value.end(), [](std::byte byte) { return byte == std::byte{0}; });
  for (std::int64_t z = 0; z < block.planes; ++z) {
    for (std::int64_t y = 0; y < block.rows; ++y) {
      std::byte* const row = block.at(y, z);
      if (zero) {
        std::memset(row, 0, block.row);
        continue;
      }
      for (std::size_t at = 0; at < block.row; at += value.size()) {
        std::memcpy(row + at, value.data(), value.size());
      }
    }
  }
}

LocalMemory::LocalMemory(std::span<const Box> mappings, std::size_t element_size)
    : element_size_(element_size) {
  for (const Box& bounds : mappings) {
    const std::size_t bytes = static_cast<std::size_t>(bounds.size()) * element_size;
    mappings_.push_back({bounds, std::make_shared_for_overwrite<std::byte[]>(bytes)});
  }
}

Block LocalMemory::block(std::uint32_t mapping, const Box& box) const {
  const MappingMemory& memory = mappings_.at(mapping);
  WEFT_CHECK(memory.bounds.contains(box), "a box {} outside of its memory {}",
             to_text(box, max_dimensions), to_text(memory.bounds, max_dimensions));
  return block_in(memory.bytes.get(), memory.bounds, box, element_size_);
}

}  // namespace weft::spmd
