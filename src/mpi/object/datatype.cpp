// SPDX-License-Identifier: Apache-2.0
#include "mpi/object/datatype.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

namespace weft::mpi {

namespace {

constexpr std::uint64_t long_bytes = sizeof(long double);

/// In the order of the enumeration.
constexpr std::array<BasicShape, 31> shapes{{
    {1, 1, 1, 0},                                                         // none
    {1, 1, 1, 1},                                                         // bytes
    {1, 1, 1, 1},                                                         // int8
    {1, 1, 1, 1},                                                         // uint8
    {2, 2, 2, 2},                                                         // int16
    {2, 2, 2, 2},                                                         // uint16
    {4, 4, 4, 4},                                                         // int32
    {4, 4, 4, 4},                                                         // uint32
    {8, 8, 8, 8},                                                         // int64
    {8, 8, 8, 8},                                                         // uint64
    {4, 4, 4, 4},                                                         // float32
    {8, 8, 8, 8},                                                         // float64
    {long_bytes, long_bytes, alignof(long double), 0},                    // float_long
    {8, 8, 4, 4},                                                         // complex32
    {16, 16, 8, 8},                                                       // complex64
    {2 * long_bytes, 2 * long_bytes, alignof(long double), 0},            // complex_long
    {16, 16, 16, 16},                                                     // float_quad
    {32, 32, 16, 16},                                                     // complex_quad
    {2, 2, 2, 2},                                                         // float16
    {16, 16, 4, 4},                                                       // two_complex32
    {32, 32, 8, 8},                                                       // two_complex64
    {0, 0, 0, 0},                                                         // lower_bound
    {0, 0, 0, 0},                                                         // upper_bound
    {8, 8, 4, 4},                                                         // pair_int_int
    {8, 8, 4, 4},                                                         // pair_float_int
    {16, 12, 8, 0},                                                       // pair_double_int
    {16, 12, 8, 0},                                                       // pair_long_int
    {8, 6, 4, 0},                                                         // pair_short_int
    {2 * long_bytes, long_bytes + sizeof(int), alignof(long double), 0},  // pair_long_double_int
    {8, 8, 4, 4},                                                         // pair_float_float
    {16, 16, 8, 8},                                                       // pair_double_double
}};
static_assert(shapes.size() == static_cast<std::size_t>(Basic::pair_double_double) + 1);

/// Pieces of `bytes` each, whose beginnings are `step` bytes apart.
struct Stride {
  std::uint64_t bytes = 0;
  std::int64_t step = 0;
};

/// Copies pieces between where they lie one behind the other and where they lie apart, in the
/// direction to what is not const. `Bytes`: their size, known beforehand.
template <std::uint64_t Bytes, class Packed, class Apart>
void copy_all(Packed* packed, Apart* apart, const Stride& stride, std::uint64_t pieces) {
  for (std::uint64_t i = 0; i < pieces; ++i, packed += Bytes, apart += stride.step) {
    if constexpr (std::is_const_v<Apart>) {
      std::memcpy(packed, apart, Bytes);
    } else {
      std::memcpy(apart, packed, Bytes);
    }
  }
}

/// The same of any size; most pieces are numbers.
template <class Packed, class Apart>
void copy_pieces(Packed* packed, Apart* apart, const Stride& stride, std::uint64_t pieces) {
  switch (stride.bytes) {
    case 4:
      return copy_all<4>(packed, apart, stride, pieces);
    case 8:
      return copy_all<8>(packed, apart, stride, pieces);
    case 16:
      return copy_all<16>(packed, apart, stride, pieces);
    default:
      break;
  }
  for (; pieces > 0; --pieces, packed += stride.bytes, apart += stride.step) {
    if constexpr (std::is_const_v<Apart>) {
      copy_bytes(packed, apart, stride.bytes);
    } else {
      copy_bytes(apart, packed, stride.bytes);
    }
  }
}

}  // namespace

const BasicShape& shape_of(Basic basic) {
  return shapes[static_cast<std::size_t>(basic)];
}

Datatype::Datatype(Basic basic) : basic_(basic) {
  if (basic == Basic::pair_short_int) {  // the only one with a gap between
    add({0, sizeof(short)});
    add({sizeof(int), sizeof(int)});
  } else {
    add({0, shape_of(basic).value_bytes});
  }
  extent_ = static_cast<std::int64_t>(bytes_of(basic));
  settle();
}

Datatype::Datatype(std::span<const Block> blocks) {
  bool is_first = true;
  std::int64_t upper = 0;
  for (const Block& block : blocks) {
    if (block.count == 0) continue;
    const Datatype& type = *block.type;
    const auto last = static_cast<std::int64_t>(block.count - 1) * type.extent();
    const std::int64_t low = block.displacement + type.lower() + std::min<std::int64_t>(0, last);
    const std::int64_t high =
        block.displacement + type.lower() + type.extent() + std::max<std::int64_t>(0, last);
    lower_ = is_first ? low : std::min(lower_, low);
    upper = is_first ? high : std::max(upper, high);
    basic_ = is_first || basic_ == type.basic() ? type.basic() : Basic::none;
    is_first = false;
    if (type.is_contiguous()) {  // of any length
      add({block.displacement, block.count * type.size()});
      continue;
    }
    for (std::uint64_t i = 0; i < block.count; ++i) {
      const auto begin = block.displacement + static_cast<std::int64_t>(i) * type.extent();
      for (const Run& run : type.runs()) add({begin + run.offset, run.bytes});
    }
  }
  extent_ = upper - lower_;
  settle();
}

Datatype Datatype::of_runs(std::span<const Run> runs, std::int64_t extent, Basic basic) {
  Datatype made;
  made.basic_ = basic;
  for (const Run& run : runs) made.add(run);
  made.extent_ = extent;
  made.settle();
  return made;
}

Datatype Datatype::resized(std::int64_t lower, std::int64_t extent) const {
  Datatype other = *this;
  other.lower_ = lower;
  other.extent_ = extent;
  other.settle();
  return other;
}

std::int64_t Datatype::true_lower() const {
  if (runs_.empty()) return 0;
  return std::min_element(runs_.begin(), runs_.end(),
                          [](const Run& a, const Run& b) { return a.offset < b.offset; })
      ->offset;
}

std::int64_t Datatype::true_extent() const {
  std::int64_t upper = true_lower();
  for (const Run& run : runs_) {
    upper = std::max(upper, run.offset + static_cast<std::int64_t>(run.bytes));
  }
  return upper - true_lower();
}

void Datatype::add(const Run& run) {
  if (run.bytes == 0) return;
  size_ += run.bytes;
  if (!runs_.empty()) {
    Run& last = runs_.back();
    if (last.offset + static_cast<std::int64_t>(last.bytes) == run.offset) {
      last.bytes += run.bytes;
      return;
    }
  }
  runs_.push_back(run);
}

void Datatype::settle() {
  is_contiguous_ = runs_.empty() || (runs_.size() == 1 && runs_[0].offset == 0 &&
                                     extent_ == static_cast<std::int64_t>(size_));
  is_regular_ = runs_.size() > 1;
  for (std::size_t i = 1; i < runs_.size() && is_regular_; ++i) {
    is_regular_ = runs_[i].bytes == runs_[0].bytes &&
                  runs_[i].offset - runs_[i - 1].offset == runs_[1].offset - runs_[0].offset;
  }
}

void Datatype::pack_runs(const void* from, std::uint64_t count, std::byte* out) const {
  if (size_ == 0 || count == 0) return;
  const auto* element = static_cast<const std::byte*>(from);
  if (runs_.size() == 1) {
    return copy_pieces(out, element + runs_[0].offset, {runs_[0].bytes, extent_}, count);
  }
  const Stride stride =
      is_regular_ ? Stride{runs_[0].bytes, runs_[1].offset - runs_[0].offset} : Stride{};
  for (std::uint64_t i = 0; i < count; ++i, element += extent_) {
    if (is_regular_) {
      copy_pieces(out, element + runs_[0].offset, stride, runs_.size());
      out += size_;
      continue;
    }
    for (const Run& run : runs_) {
      copy_bytes(out, element + run.offset, run.bytes);
      out += run.bytes;
    }
  }
}

void Datatype::unpack_runs(std::span<const std::byte> packed, void* into) const {
  auto* element = static_cast<std::byte*>(into);
  if (size_ > 0 && runs_.size() == 1) {
    const std::uint64_t whole = packed.size() / size_;
    copy_pieces(packed.data(), element + runs_[0].offset, {size_, extent_}, whole);
    packed = packed.subspan(whole * size_);
    element += static_cast<std::int64_t>(whole) * extent_;
  }
  const Stride stride =
      is_regular_ ? Stride{runs_[0].bytes, runs_[1].offset - runs_[0].offset} : Stride{};
  for (; !packed.empty(); element += extent_) {
    if (is_regular_ && packed.size() >= size_) {
      copy_pieces(packed.data(), element + runs_[0].offset, stride, runs_.size());
      packed = packed.subspan(size_);
      continue;
    }
    for (const Run& run : runs_) {
      const std::size_t length = std::min<std::size_t>(run.bytes, packed.size());
      copy_bytes(element + run.offset, packed.data(), length);
      packed = packed.subspan(length);
      if (packed.empty()) return;
    }
  }
}

const Datatype& plain_bytes() {
  static const Datatype bytes(Basic::bytes);
  return bytes;
}

}  // namespace weft::mpi
