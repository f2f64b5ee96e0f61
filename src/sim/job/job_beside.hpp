// SPDX-License-Identifier: Apache-2.0
// JobBeside describes a job that runs beside streams or a program, before its world exists.
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
  std::string key;                            ///< where the scenario has it, for messages
  std::size_t streams_before = 0;             ///< streams that the scenario lists before it
  std::uint32_t hosts = 0;                    ///< number of hosts that it needs
  std::optional<PlacementOptions> placement;  ///< none: the scenario's
  /// Makes the job, before anything runs. The world outlives the job; errors end the simulation.
  std::function<Result<std::unique_ptr<Job>>(World&, std::vector<std::uint32_t> hosts)> make;
  /// The caller hands over the job after its conclusion, before it destroys the job.
  std::function<void(const Job&)> on_concluded;
};

}  // namespace weft::sim
