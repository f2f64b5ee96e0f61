// SPDX-License-Identifier: Apache-2.0
// Faults of a simulated job that a scenario does not name but only says how often they happen.
#pragma once

#include <cstdint>
#include <vector>

#include "faults/fault.hpp"
#include "sim/scenario/scenario.hpp"

namespace weft::sim {

/// At most so many are drawn, with any rates.
inline constexpr std::size_t most_random_faults = 100'000;

/// Draws the scenario's random faults until their end: the same for the same seed. What happens to
/// one node does so one after the other, so that no fault meets a dead node; the first input and
/// the first compute node do not crash, so that the job goes on. `job` numbers the jobs of a
/// simulation, each of which has faults of its own.
std::vector<faults::Fault> draw_random_faults(const Scenario& scenario, std::uint32_t inputs,
                                              std::uint32_t computes, std::uint32_t job = 0);

}  // namespace weft::sim
