// SPDX-License-Identifier: Apache-2.0
// Launching programs whose processes are all simulated in one: once, or once for each of many
// seeds.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launch/launch.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft {

struct SimulatedLaunch {
  LaunchOptions launch;                ///< its fabric is "sim:SCENARIO"
  std::optional<std::uint64_t> seed;   ///< in place of the scenario's
  bool faults = true;                  ///< those of the scenario happen
  bool keeps_output = false;           ///< keep its output instead of printing it
  Duration at_most = Duration::max();  ///< real time; a longer simulation is ended
};

/// The outcome of one simulation.
struct SimulatedRun {
  int code = 0;        ///< 128 + N for signal N
  std::string report;  ///< a JSON object (docs/simulated-programs.md); empty: it gave none
  std::string output;  ///< if it is kept: standard output and error
};

/// Checks that a simulation can restart ranks of the program, if the options want that. Errors: it
/// is a program of MPI.
Result<void> check_restarts(const LaunchOptions& launch);

/// For a program that ended well and has not joined the simulation.
Error never_joined(const LaunchOptions& launch);

/// Starts the program once and waits for it. Errors: those of `check_restarts`; no processes or
/// descriptors left.
Result<SimulatedRun> launch_simulated(const SimulatedLaunch& options);

struct ProgramSwarm {
  SimulatedLaunch each;
  std::uint64_t first = 1, last = 1;  ///< seeds
  std::uint32_t jobs = 1;             ///< simulations at a time
};

struct ProgramSwarmOutcome {
  struct Failure {
    std::uint64_t seed = 0;
    std::string what;
  };
  std::uint64_t runs = 0;
  std::vector<Failure> failures;     ///< by seed
  std::vector<std::string> results;  ///< the lines that every seed must print
  std::vector<std::string> reports;  ///< of the runs that had one, in no order
};

/// Runs the program without faults first. Then every seed must end with code 0 and print the same
/// lines with the word "checksum" in them, and no other such lines; calls `on_run` after each.
/// Errors: the run without faults fails; those of `launch_simulated`.
Result<ProgramSwarmOutcome> launch_swarm(
    const ProgramSwarm& options, const std::function<void(const ProgramSwarmOutcome&)>& on_run);

}  // namespace weft
