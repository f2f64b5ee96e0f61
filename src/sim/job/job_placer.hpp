// SPDX-License-Identifier: Apache-2.0
// JobPlacer: gives jobs their hosts one after the other: each gets hosts that those before it left.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/run/world.hpp"
#include "sim/topology/placement.hpp"
#include "weft/result.hpp"

namespace weft::sim {

/// The world outlives it.
class JobPlacer {
 public:
  explicit JobPlacer(const World& world);

  /// `count` hosts for the next job, by `own` or the scenario's placement. Errors: too few hosts
  /// are left; a placement's file, with its place in the scenario below the job's `key`.
  Result<std::vector<std::uint32_t>> next(const std::optional<PlacementOptions>& own,
                                          const std::string& key, std::uint32_t count);

 private:
  const World& world_;
  std::vector<std::uint32_t> free_;  // ascending
};

}  // namespace weft::sim
