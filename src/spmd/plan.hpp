// SPDX-License-Identifier: Apache-2.0
// The actions of one rank in a transition, in boxes: no addresses, no element type.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "weft/spmd/group.hpp"

namespace weft::spmd {

/// A box in one mapping of this rank's memory, before or after.
struct Piece {
  Box box;
  std::uint32_t mapping = 0;
};

struct LocalCopy {
  Box box;
  std::uint32_t from_mapping = 0;
  std::uint32_t to_mapping = 0;
};

/// The contents of one message: the pieces' elements, packed in this order.
struct PeerPieces {
  Rank peer;
  std::vector<Piece> pieces;
  std::int64_t elements = 0;
};

/// Part of a contribution that is the first for its target, or is folded into the value there.
struct FoldPart {
  Box part;
  Box piece;                  ///< the packed piece that it is in
  std::int64_t offset = 0;    ///< elements of the contribution before that piece
  std::uint32_t mapping = 0;  ///< of the target
  bool is_first = false;
};

/// The values that one rank, perhaps this one, wrote for elements that this one gets. `pieces`: of
/// this rank's own contribution, their places in its memory before.
struct Contribution {
  Rank rank;
  std::vector<Piece> pieces;
  std::vector<FoldPart> parts;
  std::int64_t elements = 0;
};

/// A reduction in which some ranks all contribute to the same elements, and all of them or one get
/// the result: the case for trees and rings.
struct UniformReduction {
  std::vector<Rank> members;
  std::optional<std::uint32_t> root;  ///< place in `members`; none: all get it
  std::uint32_t place = 0;            ///< this rank's
  std::vector<Piece> from;
  std::vector<Piece> to;
  std::int64_t elements = 0;
};

struct Transition::Plan {
  Partitioning from;
  Partitioning to;
  Flow flow;
  Rank rank;
  std::vector<LocalCopy> copies;
  std::vector<PeerPieces> sends;
  std::vector<PeerPieces> receives;
  std::vector<Contribution> contributions;  ///< ascending by rank
  std::vector<Piece> fills;
  std::optional<UniformReduction> uniform;
};

Transition::Plan make_plan(const Partitioning& from, const Partitioning& to, Flow flow, Rank rank);

}  // namespace weft::spmd
