// SPDX-License-Identifier: Apache-2.0
// Placement: which hosts of a topology a job's processes run on.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/topology/topology.hpp"
#include "weft/result.hpp"

namespace weft::sim {

enum class PlacementKind : std::uint8_t {
  contiguous,   ///< the first hosts, in order
  random,       ///< any hosts, by seed
  round_robin,  ///< one host of each edge switch, then another one of each, …
  file,         ///< one host per line, by number or label; # begins a comment
};

struct PlacementOptions {
  PlacementKind kind = PlacementKind::contiguous;
  std::uint64_t seed = 1;  ///< random
  std::string path;        ///< file
};

/// "contiguous", "random" or "random:SEED", "round-robin", "file:PATH".
Result<PlacementOptions> parse_placement(std::string_view text);

/// The hosts of processes 0 … count−1, all different. Errors: more processes than hosts; a file
/// that is unreadable, too short, or names an unknown host or one twice (with its line).
Result<std::vector<std::uint32_t>> place(const PlacementOptions& options, const Topology& topology,
                                         std::uint32_t count);
/// The same for a further job, on the hosts in `free` (ascending) only.
Result<std::vector<std::uint32_t>> place(const PlacementOptions& options, const Topology& topology,
                                         std::span<const std::uint32_t> free, std::uint32_t count);

}  // namespace weft::sim
