// SPDX-License-Identifier: Apache-2.0
// Faults of the jobs of a simulation: those that the scenario names, and those it draws.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "faults/fault.hpp"
#include "sim/run/world.hpp"
#include "stream/simulated/simulated_job.hpp"
#include "weft/result.hpp"

namespace weft::stream {

struct JobFaults {
  std::vector<std::vector<faults::Fault>> of_jobs;
  std::vector<faults::Fault> of_network;  ///< of no job; their times count from the beginning
};

/// Reads and draws all faults. With several jobs hosts are "JOB:host3", and cables are nobody's;
/// with one, everything is its. `hosts` by job and node. Errors have the scenario's line.
Result<JobFaults> parse_job_faults(sim::World& world, std::span<const SimulatedJob> jobs,
                                   const std::vector<std::vector<std::uint32_t>>& hosts);

}  // namespace weft::stream
