// SPDX-License-Identifier: Apache-2.0
// weft simulate swarm: many small simulated jobs, each drawn from a seed and held to its promises.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <vector>

#include "cli/commands.hpp"
#include "cli/parsed_option.hpp"
#include "cli/seeds.hpp"
#include "cli/team.hpp"
#include "cli/terminal.hpp"
#include "runtime/clock.hpp"
#include "sim/scenario/scenario_file.hpp"
#include "stream/swarm/swarm.hpp"

namespace weft::cli {
namespace {

/// Failures that are printed; all are counted.
constexpr std::size_t most_failures_printed = 10;

struct SwarmCommand {
  Seeds seeds;
  std::string scenario;
  std::uint32_t jobs = 1;
  bool json = false;
  bool verbose = false;
};

/// The line that runs one seed again.
std::string replay(const SwarmCommand& command, std::uint64_t seed) {
  std::string line = fmt::format("weft simulate swarm --seeds {}..{} --verbose", seed, seed);
  if (!command.scenario.empty()) line += fmt::format(" --scenario {}", command.scenario);
  return line;
}

void show_progress(const stream::SwarmOutcome& so_far, std::uint64_t all, Instant begun,
                   StatusLine& line) {
  const std::chrono::duration<double> taken((monotonic_now() - begun).to_seconds());
  line.show({fmt::format("{} of {} seeds", so_far.runs, all),
             share_done(static_cast<double>(so_far.runs) / static_cast<double>(all), taken),
             fmt::format("{} failures", so_far.failures.size())});
}

void print_outcome(const SwarmCommand& command, const stream::SwarmOutcome& o, double seconds) {
  if (command.json) {
    nlohmann::ordered_json json = {{"runs", o.runs},           {"failures", o.failures.size()},
                                   {"first_failure", nullptr}, {"timeslices", o.timeslices},
                                   {"events", o.events},       {"wall_s", seconds}};
    if (!o.failures.empty()) {
      json["first_failure"] = replay(command, o.failures[0].seed);
      json["what"] = o.failures[0].what;
    }
    json["failed_seeds"] = nlohmann::json::array();
    for (std::size_t i = 0; i < std::min(o.failures.size(), most_failures_printed); ++i) {
      json["failed_seeds"].push_back(o.failures[i].seed);
    }
    fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    return;
  }
  for (std::size_t i = 0; i < std::min(o.failures.size(), most_failures_printed); ++i) {
    fmt::print("seed {}: {}\n  {}\n", o.failures[i].seed, o.failures[i].what,
               replay(command, o.failures[i].seed));
  }
  if (o.failures.size() > most_failures_printed) {
    fmt::print("and {} more\n", o.failures.size() - most_failures_printed);
  }
  fmt::print("{} seeds, {} failures; {} timeslices in {:.1f} s\n", o.runs, o.failures.size(),
             o.timeslices, seconds);
}

/// Neighbouring seeds of a range for one of several processes; they may be none.
std::optional<Seeds> share_of(const Seeds& all, std::uint32_t rank, std::uint32_t processes) {
  const std::uint64_t count = all.last - all.first + 1;
  const std::uint64_t each = count / processes, rest = count % processes;
  const std::uint64_t own = each + (rank < rest ? 1 : 0);
  if (own == 0) return std::nullopt;
  const std::uint64_t first = all.first + each * rank + std::min<std::uint64_t>(rank, rest);
  return Seeds{first, first + own - 1};
}

sim::Batch to_bytes(const stream::SwarmOutcome& o) {
  nlohmann::json json = {o.runs, o.timeslices, o.events, nlohmann::json::array()};
  for (const auto& failure : o.failures) json[3].push_back({failure.seed, failure.what});
  const std::vector<std::uint8_t> packed = nlohmann::json::to_msgpack(json);
  const auto bytes = std::as_bytes(std::span(packed));
  return {bytes.begin(), bytes.end()};
}

/// Adds the findings of a process of higher rank, and so of higher seeds.
void add_bytes(const sim::Batch& bytes, stream::SwarmOutcome& sum) {
  const auto* packed = reinterpret_cast<const std::uint8_t*>(bytes.data());
  const auto json = nlohmann::json::from_msgpack(packed, packed + bytes.size());
  sum.runs += json.at(0).get<std::uint64_t>();
  sum.timeslices += json.at(1).get<std::uint64_t>();
  sum.events += json.at(2).get<std::uint64_t>();
  for (const auto& failure : json.at(3)) {
    sum.failures.push_back({failure.at(0).get<std::uint64_t>(), failure.at(1)});
  }
}

/// Merges the outcomes of all processes; each process gets the sum.
Result<stream::SwarmOutcome> merge(Team& team, Result<stream::SwarmOutcome> own) {
  if (auto good = team.start(); !good) return std::move(good).error();
  const Result<void> good = own ? Result<void>() : own.error();
  if (auto agreed = team.agree(good); !agreed) return std::move(agreed).error();
  if (team.processes() == 1) return own;
  stream::SwarmOutcome sum;
  for (const sim::Batch& bytes : team.gather(to_bytes(*own))) add_bytes(bytes, sum);
  return sum;
}

/// The options of a command, and its scenario if it names one.
Result<stream::SwarmOptions> options_of(const SwarmCommand& command) {
  stream::SwarmOptions options{.first = command.seeds.first,
                               .last = command.seeds.last,
                               .network = std::nullopt,
                               .jobs = command.jobs,
                               .show_log = command.verbose};
  if (command.scenario.empty()) return options;
  auto scenario = sim::read_scenario(command.scenario);
  if (!scenario) return std::move(scenario).error();
  options.network = std::move(scenario).value();
  return options;
}

void describe_seeds(const SwarmCommand& command, const stream::SwarmOptions& options) {
  for (std::uint64_t seed = options.first; seed <= options.last; ++seed) {
    const auto drawn =
        stream::describe_swarm_seed(seed, options.network ? &*options.network : nullptr);
    fmt::print(command.json ? stderr : stdout, "{}\n", drawn);
  }
  std::fflush(stdout);
}

/// Runs the seeds that are this process's.
Result<stream::SwarmOutcome> run_share(const SwarmCommand& command, const Team& team) {
  auto options = options_of(command);
  if (!options) return std::move(options).error();
  if (command.verbose && team.leads()) describe_seeds(command, *options);
  const auto share = share_of(command.seeds, team.rank(), team.processes());
  if (!share) return stream::SwarmOutcome{};
  options->first = share->first;
  options->last = share->last;
  const Instant begun = monotonic_now();
  StatusLine line;
  const std::uint64_t all = share->last - share->first + 1;
  auto result = stream::run_swarm(*options, [&](const stream::SwarmOutcome& so_far) {
    if (team.leads()) show_progress(so_far, all, begun, line);
  });
  return result;
}

void run_swarm_command(const SwarmCommand& command, Outcome& outcome) {
  // Seeds run in children, which come best from a process in which MPI has not begun.
  const auto team = Team::assemble(0, outcome, Team::Start::later);
  if (!team) return report_error(team.error(), outcome);
  const Instant start = monotonic_now();
  const auto result = merge(**team, run_share(command, **team));
  if (!result) return report_error(result.error(), outcome);
  print_outcome(command, *result, (monotonic_now() - start).to_seconds());
  if (!result->failures.empty()) outcome.code = ExitCode::failed;
}

}  // namespace

void add_swarm_command(CLI::App& simulate, Outcome& outcome) {
  auto* swarm = simulate.add_subcommand(
      "swarm", "Run many random jobs with faults, drawn from seeds, and check weft's promises");
  auto state = std::make_shared<SwarmCommand>();
  SwarmCommand& s = *state;
  add_parsed(*swarm, "--seeds", s.seeds, parse_seeds, "first and last seed", "1..200")
      ->type_name("A..B");
  swarm
      ->add_option("--scenario", s.scenario, "take the network of this scenario, and draw the rest")
      ->type_name("FILE");
  swarm->add_option("--jobs", s.jobs, "number of jobs to run at a time")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  swarm->add_flag("--verbose", s.verbose, "print the job of each seed");
  swarm->add_flag("--json", s.json, "print one JSON object: runs, failures, first_failure");
  swarm->footer(
      "With each failure weft prints the command that repeats it.\n"
      "Examples:\n"
      "  weft simulate swarm --seeds 1..1000 --jobs 2 --json\n"
      "  weft simulate swarm --seeds 4711..4711 --verbose\n"
      "  mpirun -n 4 weft simulate swarm --seeds 1..1000 "
      "--scenario examples/scenarios/dragonfly-4096.toml");
  swarm->callback([state, &outcome] { run_swarm_command(*state, outcome); });
}

}  // namespace weft::cli
