// SPDX-License-Identifier: Apache-2.0
// weft simulate SCENARIO where the scenario has jobs, and the parts that jobs and traffic share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/network_output.hpp"
#include "cli/team.hpp"
#include "report/run_record.hpp"
#include "sim/rc/reliable_connections.hpp"
#include "sim/scenario/scenario.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft::cli {

/// The command's options.
struct SimulateCommand {
  std::string scenario;
  std::vector<std::string> settings;
  std::uint32_t parts = 0;
  std::optional<std::uint64_t> seed;
  bool check_determinism = false;
  bool compare_avoidance = false;
  bool no_limit = false;
  bool json = false;
  std::string out;
  std::string capture;  ///< empty: none
  std::uint32_t capture_host = 0;
  TraceSettings trace;
  std::string log_level = "warning";
};

/// Figures of a simulation itself, of any content.
struct Simulation {
  std::uint64_t trace_hash = 0;
  std::uint64_t events = 0;
  std::uint64_t packet_hops = 0;
  Duration simulated{};
  double wall_s = 0;
  std::optional<bool> deterministic;        ///< none: no second run was made
  std::optional<sim::RcCounters> reliable;  ///< none: no reliable connections
};

/// The jobs' records, in the scenario's order, and the figures of the simulation.
struct JobRuns {
  std::vector<report::RunRecord> records;
  Simulation whole;
};

/// As one JSON object.
std::string to_json(const Simulation& simulation);
void print_text(const Simulation& simulation, std::uint64_t seed);
/// Holds a second run against the first. Whether they did the same.
bool compare(const Simulation& first, const Result<Simulation>& second, bool json,
             Outcome& outcome);

/// Runs all jobs of the scenario, which has some.
void simulate_jobs(const sim::Scenario& scenario, const SimulateCommand& command, Team& team,
                   Outcome& outcome);
/// The same without reports and limits.
Result<JobRuns> run_jobs(const sim::Scenario& scenario, const SimulateCommand& command, Team& team,
                         Outcome& outcome);
/// Runs the scenario's stream as it is, with each means against the pitfalls of on-demand paging,
/// and over pinned memory, and shows the runs side by side.
void compare_avoidance(const sim::Scenario& scenario, const SimulateCommand& command, Team& team,
                       Outcome& outcome);

}  // namespace weft::cli
