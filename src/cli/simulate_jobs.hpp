// SPDX-License-Identifier: Apache-2.0
// Runs `weft simulate SCENARIO` for scenarios with jobs, and declares the parts of that command
// that scenarios with synthetic traffic use too.
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
#include "sim/traffic_run/traffic_run.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft::cli {

/// The options of `weft simulate SCENARIO`.
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
  std::string capture;  ///< path of a packet capture to write; empty: no capture
  std::uint32_t capture_host = 0;
  TraceSettings trace;
  std::string log_level = "warning";
};

/// Figures of the simulation as a whole, whatever runs in it.
struct Simulation {
  std::uint64_t trace_hash = 0;
  std::uint64_t events = 0;
  std::uint64_t packet_hops = 0;
  Duration simulated{};
  double wall_s = 0;
  std::optional<bool> deterministic;        ///< empty without a second run
  std::optional<sim::RcCounters> reliable;  ///< empty without reliable connections
};

/// The records of the jobs, in the scenario's order, and the figures of their simulation.
struct JobRuns {
  std::vector<report::RunRecord> records;
  Simulation whole;
};

/// The outcome of a run of synthetic traffic.
struct TrafficRun {
  sim::TrafficOutcome outcome;
  Simulation simulation;
};
/// Runs the scenario's traffic, and records the network if `network` is not null. A signal ends it
/// with an error of code cancelled.
Result<TrafficRun> run_traffic(const sim::Scenario& scenario, Team& team,
                               sim::NetworkRecording* network = nullptr);
Result<Simulation> simulation_of(const Result<TrafficRun>& run);

/// Formats the figures as one JSON object.
std::string to_json(const Simulation& simulation);
/// Prints the figures to standard output as text.
void print_text(const Simulation& simulation, std::uint64_t seed);
/// Compares a second run with the first one by trace hash and number of events. Returns true and
/// prints a line, unless `json`, when they agree; reports an error to `outcome` when they differ or
/// the second run failed. Returns nothing if that was interrupted: it says nothing of the other.
std::optional<bool> compare(const Simulation& first, const Result<Simulation>& second, bool json,
                            Outcome& outcome);

/// Runs all jobs of the scenario, which must have at least one, and reports on them as `command`
/// says. Errors go to `outcome`.
void simulate_jobs(const sim::Scenario& scenario, const SimulateCommand& command, Team& team,
                   Outcome& outcome);
/// Runs the jobs in the same way without reports and without the search for the limit.
Result<JobRuns> run_jobs(const sim::Scenario& scenario, const SimulateCommand& command, Team& team,
                         Outcome& outcome);
/// Runs the scenario's stream several times: unchanged, with each countermeasure against the
/// pitfalls of on-demand paging (paper 2), and over pinned memory. Prints the runs side by side.
void compare_avoidance(const sim::Scenario& scenario, const SimulateCommand& command, Team& team,
                       Outcome& outcome);

}  // namespace weft::cli
