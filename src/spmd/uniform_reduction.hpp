// SPDX-License-Identifier: Apache-2.0
// Reductions in which every member contributes to the same elements: four algorithms that give the
// same bits, and which one is taken when (paper 4, 7.2.2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "weft/message.hpp"
#include "weft/spmd/reduction.hpp"

namespace weft::spmd {

/// The tag of all messages of transitions: each flow's order says which is which.
inline constexpr Tag transition_tag(0x73706d64);

enum class ReductionAlgorithm {
  /// Each sends its contribution to each member that gets the result, which folds: one step.
  exchange,
  /// Binomial: towards the first member in ⌈log₂ p⌉ steps and, where all get it, back.
  tree,
  /// Pairs at distance 1, 2, 4 … swap their partials: ⌈log₂ p⌉ steps, all get it.
  recursive_doubling,
  /// In segments from member to member, each folding its own into them; then on round the ring.
  /// Each sends each byte twice at most, however many there are.
  ring,
};

struct UniformJob {
  Communicator& communicator;
  std::span<const Rank> members;
  std::uint32_t place;                ///< this process's in `members`
  std::optional<std::uint32_t> root;  ///< gets the result; none: all do
  const RawReduction& reduction;
  std::size_t element_size;
};

/// For a message of so many bytes. Depends on nothing else than the arguments, so that all members
/// choose alike.
ReductionAlgorithm choose_algorithm(std::size_t bytes, std::size_t members, bool to_root,
                                    Grouping grouping);

/// Folds the members' `values` in the order of `members`; the result replaces them where it is
/// asked for, elsewhere they become unspecified. Collective among members. Recursive doubling to a
/// root is done as a tree.
Result<void> reduce_uniformly(const UniformJob& job, ReductionAlgorithm algorithm,
                              std::span<std::byte> values);

}  // namespace weft::spmd
