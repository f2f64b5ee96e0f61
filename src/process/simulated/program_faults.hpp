// SPDX-License-Identifier: Apache-2.0
// Draws and reads the faults of a simulated program: of its processes and of their network.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "faults/fault.hpp"
#include "sim/run/world.hpp"
#include "weft/result.hpp"

namespace weft {

/// Reads the scenario's faults and draws its random ones, those of `draw_crashes` among them. The
/// hosts in the result are ranks, rank n runs on host `hosts[n]`, and times count from the
/// programs' beginning. Errors name the scenario's line.
Result<std::vector<faults::Fault>> program_faults(sim::World& world,
                                                  std::span<const std::uint32_t> hosts);

/// Draws 1 to `programs.crashes` crashes from the scenario's seed; none when the option is 0. Each
/// kills a random process at a random time within `programs.crash_within`. Some crashes follow
/// another one: at the same time, in the same process during its restart, in another process before
/// the first one has caught up, or in a second process of the same host. Rank n runs on host
/// `hosts[n]`.
std::vector<faults::Fault> draw_crashes(const sim::Scenario& scenario,
                                        std::span<const std::uint32_t> hosts);

}  // namespace weft
