// SPDX-License-Identifier: Apache-2.0
// JobBeside: a job that runs beside streams or beside a program, before there is a world for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/job/job.hpp"
#include "sim/run/world.hpp"
#include "sim/topology/placement.hpp"
#include "weft/result.hpp"

namespace weft::sim {

struct JobBeside {
  std::string key;                            ///< in the scenario, for messages
  std::size_t streams_before = 0;             ///< how many of the scenario's streams
  std::uint32_t hosts = 0;                    ///< that it needs
  std::optional<PlacementOptions> placement;  ///< none: the scenario's
  /// Makes it, before anything runs. The world outlives it; errors end the simulation.
  std::function<Result<std::unique_ptr<Job>>(World&, std::vector<std::uint32_t> hosts)> make;
  /// Called once it has been concluded, before it is destroyed.
  std::function<void(const Job&)> on_concluded;
};

}  // namespace weft::sim
