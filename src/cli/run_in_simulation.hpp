// SPDX-License-Identifier: Apache-2.0
// `weft run` with a simulated fabric, and its options for that.
#pragma once

#include <cstdint>
#include <optional>

#include "cli/commands.hpp"
#include "cli/seeds.hpp"
#include "launch/launch.hpp"

namespace weft::cli {

struct SimulationOptions {
  std::optional<std::uint64_t> seed;
  std::optional<Seeds> seeds;
  std::uint32_t jobs = 1;
  bool json = false;
};

void add_simulation_options(CLI::App& command, SimulationOptions& options);
/// Returns whether the fabric is one of these; the options have no meaning for others.
bool is_of_scenario(const LaunchOptions& launch);
/// Errors: an option that is given and has no meaning for real processes.
Result<void> refuse_simulation_options(const SimulationOptions& options);
/// Runs the program, or all its seeds, and prints the outcome.
void run_in_simulation(const LaunchOptions& launch, const SimulationOptions& options,
                       Outcome& outcome);

}  // namespace weft::cli
