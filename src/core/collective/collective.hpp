// SPDX-License-Identifier: Apache-2.0
// Collective operations of a group: which algorithms there are, which one suits a size and a group,
// and the plan of one member. Folds keep the order of members in every algorithm, so that
// operations that do not commute give the right result.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/collective/plan.hpp"

namespace weft::collective {

enum class Operation : std::uint8_t {
  barrier,
  broadcast,       ///< the root's output becomes everybody's; no input
  reduce,          ///< all inputs folded, into the root's output
  allreduce,       ///< all inputs folded, into every output
  gather,          ///< each input is a block of the root's output
  scatter,         ///< each output is a block of the root's input
  allgather,       ///< each input is a block of every output
  alltoall,        ///< block j of i's input is block i of j's output
  reduce_scatter,  ///< block i of all inputs, folded, is i's output
  scan,            ///< inputs of members 0 to i, folded, are i's output
  exclusive_scan,  ///< the same without i's own; member 0's output is left as it is
};

enum class Algorithm : std::uint8_t {
  linear,              ///< every message straight to where it is wanted, all at once
  binomial,            ///< a tree of ⌈log₂ p⌉ levels
  recursive_doubling,  ///< pairs at distance 1, 2, 4 … exchange all they have
  rabenseifner,        ///< pairs exchange halves of halves, then gather the parts
  ring,                ///< from neighbour to neighbour, in segments where values are folded
  bruck,               ///< ⌈log₂ p⌉ steps, each with half of all blocks
  pairwise,            ///< in step s with the members at distance s, one step after the other
  dissemination,       ///< in step s a word to the member at distance 2^s
};

std::string_view name_of(Operation operation);
std::string_view name_of(Algorithm algorithm);

/// The blocks of a buffer, one for each member: all of one size and one behind the other, or
/// listed.
class Blocks {
 public:
  Blocks() = default;
  static Blocks uniform(std::uint64_t bytes);
  /// Block i has bytes[i] at offsets[i]. Both outlive the request; empty, if another member knows.
  static Blocks listed(std::span<const std::uint64_t> bytes,
                       std::span<const std::uint64_t> offsets);

  bool is_uniform() const { return is_uniform_; }
  std::uint64_t bytes(std::uint32_t member) const {
    return is_uniform() ? bytes_ : listed_bytes_[member];
  }
  Piece at(Buffer buffer, std::uint32_t member) const {
    return {buffer, is_uniform() ? bytes_ * member : listed_offsets_[member], bytes(member)};
  }

 private:
  bool is_uniform_ = true;
  std::uint64_t bytes_ = 0;
  std::span<const std::uint64_t> listed_bytes_;
  std::span<const std::uint64_t> listed_offsets_;
};

/// The request of one member. All members of a group make the same one, but for `rank` and the
/// fields marked so, which describe their own blocks.
struct Request {
  Operation operation = Operation::barrier;
  std::uint32_t members = 1;
  std::uint32_t rank = 0;  ///< in [0, members)
  std::uint32_t root = 0;  ///< of broadcast, reduce, gather and scatter
  /// Broadcast, reduce, allreduce and scans: the whole vector. Gather, scatter, allgather and
  /// reduce_scatter: this member's own block. Alltoall: every block, unless they are listed.
  std::uint64_t bytes = 0;
  std::uint64_t element_bytes = 1;  ///< vectors that are folded are never divided within one
  /// Gather: of the root's output, which only the root knows when they are listed. Scatter: of its
  /// input, likewise. Allgather: of every output. Alltoall: of this member's output.
  /// Reduce_scatter: of every input.
  Blocks blocks;
  Blocks input_blocks;  ///< alltoall: of this member's input
  /// (a ∘ b) ∘ c and a ∘ (b ∘ c) are the same bit for bit. If not, values travel singly to where
  /// they can be folded from the first member to the last.
  bool may_regroup = true;
  /// The input lies where the output is: for gather and allgather in this member's block of it. Not
  /// for alltoall, scatter and reduce_scatter.
  bool in_place = false;
};

/// The algorithms that can do it, for any size.
std::vector<Algorithm> algorithms_of(const Request& request);

/// The one to take. It depends only on facts that all members know alike.
Algorithm choose(const Request& request);

/// The plan of member `request.rank`. The algorithm is one of algorithms_of(request).
Plan make_plan(const Request& request, Algorithm algorithm);

}  // namespace weft::collective
