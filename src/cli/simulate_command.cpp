// SPDX-License-Identifier: Apache-2.0
// weft simulate; what is below it has files of its own.
#include <CLI/CLI.hpp>

#include "cli/commands.hpp"

namespace weft::cli {

void add_simulate_command(CLI::App& root, Outcome& outcome) {
  auto* simulate = root.add_subcommand("simulate", "simulate networks packet by packet");
  simulate->require_subcommand(1);
  add_uniform_command(*simulate, outcome);
#ifdef WEFT_WITH_SWARM
  add_swarm_command(*simulate, outcome);
#endif
}

}  // namespace weft::cli
