// SPDX-License-Identifier: Apache-2.0
// The bounds of datatypes in Open MPI's ABI, where every constructor pads.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "mpi/api/datatypes.hpp"

namespace weft::mpi {

/// The bounds of a datatype to which blocks are added, in the order of the constructor's arguments.
/// After each one the upper bound grows until the extent is a multiple of the alignment of what is
/// there so far. Bounds that the program set hide all others, and nothing pads an upper one.
class TypeBounds {
 public:
  TypeBounds() = default;
  explicit TypeBounds(const Datatype& type);
  explicit TypeBounds(std::span<const Block> blocks);

  /// `count` elements, whose beginnings are `step` bytes apart, the first one at `displacement`.
  void add(const TypeBounds& element, std::uint64_t count, std::int64_t displacement,
           std::int64_t step);
  /// A member of a struct, which may be one of MPI-1's markers.
  void add_member(const Datatype& type, std::uint64_t count, std::int64_t displacement);

  std::int64_t extent() const { return upper() - lower(); }
  Datatype apply_to(Datatype type) const;
  void apply_to(TypeFacts& facts) const;

 private:
  std::int64_t lower() const { return lower_ == no_lower ? 0 : lower_; }
  std::int64_t upper() const { return upper_ == no_upper ? lower() : upper_; }

  static constexpr std::int64_t no_lower = std::numeric_limits<std::int64_t>::max();
  static constexpr std::int64_t no_upper = std::numeric_limits<std::int64_t>::min();
  std::int64_t lower_ = no_lower;
  std::int64_t upper_ = no_upper;
  std::int64_t alignment_ = 1;
  bool has_set_lower_ = false;
  bool has_set_upper_ = false;
};

}  // namespace weft::mpi
