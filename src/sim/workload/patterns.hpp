// SPDX-License-Identifier: Apache-2.0
// The microbenchmarks of paper 5 (5.3) as programs: in every iteration ranks exchange messages with
// their partners, phase by phase, compute, and mark their progress.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "sim/workload/program.hpp"
#include "weft/result.hpp"

namespace weft::sim {

enum class Pattern : std::uint8_t {
  flood_pairs,       ///< rank x with rank n/2 + x
  nearest_neighbor,  ///< in a 2D grid without wraparound
  random_pairs,      ///< each rank of the lower half with one of the upper, drawn once
  all_to_all,        ///< everybody with everybody
  mini_paradis,      ///< nearest neighbours; computation drifts apart from iteration to iteration
  mini_amg,          ///< nearest neighbours on ever coarser grids and back: a V-cycle
  crystal_router,  ///< in phase i with the rank that differs in bit i: many to many in log2 n steps
  pf3d,            ///< everybody with everybody of its row, then of its column: a transform in 2D
};
Result<Pattern> parse_workload_pattern(std::string_view name);
std::string_view to_text(Pattern pattern);

struct PatternOptions {
  Pattern pattern = Pattern::flood_pairs;
  std::uint32_t ranks = 8;
  std::uint64_t message_bytes = 64 << 10;
  std::uint32_t messages = 1;  ///< to each partner in every phase
  /// Computation of an iteration: of the rank that computes the longest (the paper's Y).
  PicoDuration compute{};
  /// Each rank computes a share of that, drawn once from [least_compute, 1].
  double least_compute = 0;
  bool one_computes = false;     ///< rank 0 computes, the others do not at all (Fig. 7)
  double drift = 0.001;          ///< mini_paradis: how fast shares drift apart, per iteration
  std::uint64_t iterations = 0;  ///< 0: without end
  std::uint64_t seed = 1;
};

/// Errors name the option, its value and the fix.
Result<std::unique_ptr<Program>> make_pattern(const PatternOptions& options);

}  // namespace weft::sim
