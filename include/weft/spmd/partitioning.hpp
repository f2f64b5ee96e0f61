// SPDX-License-Identifier: Apache-2.0
// Partitionings: which indices of a space each rank of a group holds, and in which of its memories.
// Every rank computes the same one from the same arguments, without a message.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "weft/message.hpp"
#include "weft/spmd/space.hpp"

namespace weft::spmd {

/// A box that a rank holds. `mapping` numbers the rank's memories: boxes of the same mapping lie in
/// one memory, which reaches over the smallest box around them.
struct Slice {
  Box box;
  std::uint32_t mapping = 0;

  bool operator==(const Slice&) const = default;
};

/// Immutable; copies share. Slices of one rank that have the same mapping are disjoint.
class Partitioning {
 public:
  /// The slices of each rank, user-defined: `slices[r]` are those of rank r. Empty ones are left
  /// out. Slices must lie in the space; those of a mapping that overlap are made disjoint.
  Partitioning(const Space& space, std::vector<std::vector<Slice>> slices);
  /// The same from a function of the rank, which every rank calls for all `ranks` of them.
  Partitioning(const Space& space, std::uint32_t ranks,
               const std::function<std::vector<Slice>(Rank)>& slices_of);

  const Space& space() const;
  std::uint32_t ranks() const;
  /// In ascending order of their first index where the space is a line.
  std::span<const Slice> slices(Rank rank) const&;
  std::span<const Slice> slices(Rank rank) const&& = delete;  // would outlive its partitioning
  /// Elements that a rank holds; one held in several mappings counts as often.
  std::int64_t size(Rank rank) const;
  /// The smallest box around all slices of a rank.
  Box bounds(Rank rank) const;
  /// The box that the memory of each of a rank's mappings reaches over, by mapping number; empty
  /// ones where a number is not used.
  std::vector<Box> mappings(Rank rank) const;
  /// Returns whether no element is held twice, by two ranks or in two mappings.
  bool is_disjoint() const;
  /// Returns whether each element of the space is held by some rank.
  bool is_complete() const;
  /// Returns whether it is the very same one (a copy), not one that is equal.
  bool is(const Partitioning& other) const { return state_ == other.state_; }
  /// Differs between partitionings that exist at the same time.
  const void* identity() const { return state_.get(); }

  /// The same with other ranks: rank r's slices become those of `rank_of[r]`, of `ranks`; those
  /// whose new rank is Rank::max() must be empty.
  Partitioning renumbered(std::span<const Rank> rank_of, std::uint32_t ranks) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// Every rank holds everything.
Partitioning all(const Space& space, std::uint32_t ranks);
/// One rank holds everything.
Partitioning master(const Space& space, std::uint32_t ranks, Rank root = Rank(0));

/// How `block` divides.
struct BlockOptions {
  /// The dimension to divide; the others stay whole. By default the space's last dimension.
  unsigned dimension = max_dimensions;
  /// How often every rank gets its turn; each turn is a mapping of its own.
  std::uint32_t cycles = 1;
  /// Weight of an index of the divided dimension, at least 0; none: all alike.
  std::function<double(std::int64_t)> index_weight{};
  /// Weight of a rank, at least 0; none: all alike. A rank of weight 0 holds nothing.
  std::function<double(Rank)> rank_weight{};
};

/// Consecutive indices for each rank, of a weight as near its share as whole indices allow.
Partitioning block(const Space& space, std::uint32_t ranks, const BlockOptions& options = {});
/// `length` consecutive indices of the dimension in turn, all in one memory.
Partitioning cyclic(const Space& space, std::uint32_t ranks, std::int64_t length = 1,
                    unsigned dimension = 0);
/// Halves of the ranks get halves of the box, cut across its longest side, recursively: parts as
/// near to cubes as possible, for any number of ranks.
Partitioning bisection(const Space& space, std::uint32_t ranks);
/// A regular grid of `parts` in each dimension; rank = x + parts_x · (y + parts_y · z). As many
/// ranks as parts.
Partitioning grid(const Space& space, std::array<std::uint32_t, max_dimensions> parts);
/// The factors of `ranks` whose grid of that space has the least area of cuts.
std::array<std::uint32_t, max_dimensions> grid_parts(const Space& space, std::uint32_t ranks);

/// Each slice of `base`, and `depth` indices more on every side, without the corners: the elements
/// that a star stencil reads. In the mapping of the slice.
Partitioning halo(const Partitioning& base, std::int64_t depth = 1);
/// The same with corners: each slice becomes a larger box.
Partitioning corner_halo(const Partitioning& base, std::int64_t depth = 1);
/// Divides another space along its dimension `dimension` as `base` divides its own dimension
/// `base_dimension`: such as rows of a matrix that go with elements of a vector. Indices beyond the
/// space's end are left out.
Partitioning copy(const Space& space, const Partitioning& base, unsigned base_dimension = 0,
                  unsigned dimension = 0);
/// Leaving ranks give their parts to the others; these keep theirs, so that as little moves as
/// possible. Ranks that hold least get most. Cuts along whole planes of a box's longest side.
Partitioning reassign(const Partitioning& base, std::span<const Rank> leaving);

}  // namespace weft::spmd
