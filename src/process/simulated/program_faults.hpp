// SPDX-License-Identifier: Apache-2.0
// The faults of a simulated program's processes, and of their network.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "faults/fault.hpp"
#include "sim/run/world.hpp"
#include "weft/result.hpp"

namespace weft {

/// Reads the scenario's faults and draws its random ones; hosts of faults are ranks, of which `n`
/// runs on host `hosts[n]`, and times count from the programs' beginning. Errors have the
/// scenario's line.
Result<std::vector<faults::Fault>> program_faults(sim::World& world,
                                                  std::span<const std::uint32_t> hosts);

/// 1 to `programs.crashes` of the scenario: a process is killed, any of them, at any time within
/// `programs.crash_within`; now and then two at once, those of one host at once, or one again while
/// it begins anew. Rank n runs on host `hosts[n]`.
std::vector<faults::Fault> draw_crashes(const sim::Scenario& scenario,
                                        std::span<const std::uint32_t> hosts);

}  // namespace weft
