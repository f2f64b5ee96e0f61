// SPDX-License-Identifier: Apache-2.0
// A rank's memory for a container, and blocks in it that are copied, packed and folded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "weft/spmd/partitioning.hpp"
#include "weft/spmd/reduction.hpp"

namespace weft::spmd {

/// Rows of consecutive bytes at regular distances. Does not own.
struct Block {
  std::byte* first = nullptr;
  std::size_t row = 0;  ///< bytes
  std::int64_t rows = 1;
  std::int64_t planes = 1;
  std::ptrdiff_t row_stride = 0;  ///< bytes
  std::ptrdiff_t plane_stride = 0;

  std::size_t bytes() const {
    return row * static_cast<std::size_t>(rows) * static_cast<std::size_t>(planes);
  }
  bool is_contiguous() const { return rows == 1 && planes == 1; }
  std::byte* at(std::int64_t y, std::int64_t z) const {
    return first + y * row_stride + z * plane_stride;
  }
};

/// Returns the block of `part` within `whole`, which begins at `first` and lies densely in elements
/// of that size. Rows that follow each other without a gap become one row.
Block block_in(std::byte* first, const Box& whole, const Box& part, std::size_t element_size);
/// Appends the block's bytes at `out`; returns the end.
std::byte* pack(const Block& block, std::byte* out);
const std::byte* unpack(const Block& block, const std::byte* in);
/// Calls visit(a's row, b's row, bytes) for each row of the shape that both blocks have.
template <class Visit>
void for_each_row(const Block& a, const Block& b, const Box& shape, std::size_t element_size,
                  Visit&& visit) {
  const std::size_t row = static_cast<std::size_t>(shape.extent(0)) * element_size;
  const auto step = static_cast<std::ptrdiff_t>(row);
  // Joined rows are adjacent, for any strides of their block.
  const auto place = [&](const Block& block, std::int64_t y, std::int64_t z) {
    if (block.is_contiguous()) return block.first + (z * shape.extent(1) + y) * step;
    return block.rows == 1 ? block.at(0, z) + y * step : block.at(y, z);
  };
  for (std::int64_t z = 0; z < shape.extent(2); ++z) {
    for (std::int64_t y = 0; y < shape.extent(1); ++y) {
      visit(place(a, y, z), place(b, y, z), row);
    }
  }
}
/// Nothing when they are the same place.
void copy(const Block& from, const Block& to, const Box& shape, std::size_t element_size);
/// Every element becomes `value`.
void fill(const Block& block, std::span<const std::byte> value);

/// The memory of one mapping; copies share.
struct MappingMemory {
  Box bounds;
  std::shared_ptr<std::byte[]> bytes;
};

/// All mappings of a rank. Copies share the elements.
class LocalMemory {
 public:
  LocalMemory() = default;
  /// Over the boxes given, by mapping number; not initialised.
  LocalMemory(std::span<const Box> mappings, std::size_t element_size);

  const MappingMemory& mapping(std::uint32_t number) const { return mappings_.at(number); }
  Block block(std::uint32_t mapping, const Box& box) const;

 private:
  std::vector<MappingMemory> mappings_;
  std::size_t element_size_ = 0;
};

}  // namespace weft::spmd
