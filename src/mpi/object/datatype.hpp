// SPDX-License-Identifier: Apache-2.0
// Datatype: where the bytes of an element lie in memory. MPI's constructors become a list of runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/copy.hpp"

namespace weft::mpi {

/// The kind of numbers that the bytes are, for reductions.
enum class Basic : std::uint8_t {
  none,  ///< several kinds, or one that cannot be reduced
  bytes,
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  float32,
  float64,
  float_long,
  complex32,
  complex64,
  complex_long,
  float_quad,  ///< of 128 bits, as Fortran has it
  complex_quad,
  // Numbers that are sent, and not reduced.
  float16,
  two_complex32,
  two_complex64,
  // No bytes: bounds of a struct, as MPI-1 had them.
  lower_bound,
  upper_bound,
  // A value and its place, for MINLOC and MAXLOC, as C lays the struct out: some have a gap.
  pair_int_int,
  pair_float_int,
  pair_double_int,
  pair_long_int,
  pair_short_int,
  pair_long_double_int,
  pair_float_float,
  pair_double_double,
};
/// A number of `float_quad`.
#ifdef __SIZEOF_FLOAT128__
__extension__ using Quad = __float128;
#else
using Quad = long double;
#endif
static_assert(sizeof(Quad) == 16);

/// Sizes of one value.
struct BasicShape {
  std::uint64_t bytes;        ///< in memory with its padding; 1 for `none`
  std::uint64_t value_bytes;  ///< without padding, as it travels
  std::uint64_t alignment;    ///< that compilers give it
  std::uint64_t turned;       ///< of a number in it whose bytes external32 turns; 0: there is none
};
const BasicShape& shape_of(Basic basic);
inline std::uint64_t bytes_of(Basic basic) {
  return shape_of(basic).bytes;
}

/// Consecutive bytes, from an element's beginning.
struct Run {
  std::int64_t offset = 0;
  std::uint64_t bytes = 0;
  friend bool operator==(const Run&, const Run&) = default;
};

class Datatype;
/// `count` elements one behind the other, from that many bytes behind the beginning.
struct Block {
  std::uint64_t count = 0;
  std::int64_t displacement = 0;
  const Datatype* type = nullptr;
};

/// Immutable. Elements of an array are `extent` bytes apart.
class Datatype {
 public:
  explicit Datatype(Basic basic);
  /// All blocks, in their order.
  explicit Datatype(std::span<const Block> blocks);
  /// Elements of those runs, in their order, of numbers of that kind.
  static Datatype of_runs(std::span<const Run> runs, std::int64_t extent,
                          Basic basic = Basic::none);
  /// The same elements, with other bounds.
  Datatype resized(std::int64_t lower, std::int64_t extent) const;

  /// Bytes of an element as it travels.
  std::uint64_t size() const { return size_; }
  std::int64_t lower() const { return lower_; }
  std::int64_t extent() const { return extent_; }
  /// The bounds of the bytes in the layout, without the bounds that the program set.
  std::int64_t true_lower() const;
  std::int64_t true_extent() const;
  Basic basic() const { return basic_; }
  std::span<const Run> runs() const { return runs_; }
  /// An array of elements has no gaps: it is sent from where it lies.
  bool is_contiguous() const { return is_contiguous_; }

  /// Copies `count` elements at `from` to `out`, which has count × size bytes.
  void pack(const void* from, std::uint64_t count, std::byte* out) const {
    if (!is_contiguous_) return pack_runs(from, count, out);
    copy_bytes(out, static_cast<const std::byte*>(from), count * size_);
  }
  /// Copies bytes that were packed into an array at `into`. They may end within an element.
  void unpack(std::span<const std::byte> packed, void* into) const {
    if (!is_contiguous_) return unpack_runs(packed, into);
    copy_bytes(static_cast<std::byte*>(into), packed.data(), packed.size());
  }

 private:
  Datatype() = default;
  void add(const Run& run);
  void settle();
  void pack_runs(const void* from, std::uint64_t count, std::byte* out) const;
  void unpack_runs(std::span<const std::byte> packed, void* into) const;

  std::vector<Run> runs_;
  std::uint64_t size_ = 0;
  std::int64_t lower_ = 0;
  std::int64_t extent_ = 0;
  Basic basic_ = Basic::none;
  bool is_contiguous_ = true;
  bool is_regular_ = false;  // several runs of one size, at equal distances
};

/// Returns the datatype of bytes without a number type.
const Datatype& plain_bytes();

}  // namespace weft::mpi
