// SPDX-License-Identifier: Apache-2.0
#include "cli/run_in_simulation.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/make_error.hpp"
#include "base/units.hpp"
#include "cli/parsed_option.hpp"
#include "cli/ranks_table.hpp"
#include "cli/terminal.hpp"
#include "launch/simulated.hpp"
#include "runtime/clock.hpp"
#include "sim/scenario/scenario_file.hpp"

namespace weft::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Failures that are printed; all are counted.
constexpr std::size_t most_printed = 10;
/// The longest simulation of one seed; simulations of a few processes take milliseconds.
constexpr Duration longest_run = Duration::seconds(300);

std::string seconds(const Json& value) {
  return to_text(Duration::from_seconds(value.get<double>()));
}

constexpr std::array kinds = {std::pair{"computing", "computing_s"},
                              std::pair{"messaging", "messaging_s"},
                              std::pair{"waiting", "waiting_s"}};

void print_times(const Json& times) {
  Table table({"", "least", "median", "most"});
  for (const auto& [label, key] : kinds) {
    const Json& t = times.at(key);
    table.add({label, seconds(t.at("min")), seconds(t.at("median")), seconds(t.at("max"))});
  }
  table.print();
  fmt::print("{} messages, {}\n", times.at("messages").get<std::uint64_t>(),
             to_text(ByteCount(times.at("bytes").get<std::uint64_t>())));
}

/// Medians of all processes that were in it.
void print_phases(const Json& phases) {
  Table table({"phase", kinds[0].first, kinds[1].first, kinds[2].first, "messages", "bytes"});
  for (const Json& phase : phases) {
    std::vector<std::string> cells{phase.at("name").get<std::string>()};
    for (const auto& [label, key] : kinds) cells.push_back(seconds(phase.at(key).at("median")));
    cells.push_back(fmt::format("{}", phase.at("messages").get<std::uint64_t>()));
    cells.push_back(to_text(ByteCount(phase.at("bytes").get<std::uint64_t>())));
    table.add(std::move(cells));
  }
  if (!table.empty()) table.print();
}

void print_report(const Json& report) {
  fmt::print("\nsimulated: {} with {} processes, after {} of start-up; seed {}\n",
             seconds(report.at("simulated_s")), report.at("processes").get<std::uint32_t>(),
             seconds(report.at("start_up_s")), report.at("seed").get<std::uint64_t>());
  print_times(report);
  print_phases(report.at("phases"));
  std::vector<std::string> beside;
  for (const Json& job : report.value("jobs", Json::array())) beside.push_back(job.dump());
  print_ranks_jobs(beside);
  if (report.at("crashes") == 0 && report.at("restarts") == 0) return;
  fmt::print("  {} crashes, {} restarts\n", report.at("crashes").get<std::uint32_t>(),
             report.at("restarts").get<std::uint32_t>());
}

Result<Json> read_report(const std::string& text) {
  try {
    return Json::parse(text);
  } catch (const Json::exception& error) {
    return make_error(
        ErrorCode::corrupt,
        "the simulation's report cannot be read ({}); use the same version of weft everywhere",
        error.what());
  }
}

void run_one(const SimulatedLaunch& launch, bool json, Outcome& outcome) {
  const Instant start = monotonic_now();
  const auto run = launch_simulated(launch);
  if (!run) return report_error(run.error(), outcome);
  outcome.code = static_cast<ExitCode>(run->code);
  if (run->report.empty()) {
    if (run->code == 0) report_error(never_joined(launch.launch), outcome);
    return;
  }
  auto report = read_report(run->report);
  if (!report) return report_error(report.error(), outcome);
  if (json) {
    (*report)["code"] = run->code;
    (*report)["wall_s"] = (monotonic_now() - start).to_seconds();
    fmt::print("{}\n", report->dump());
  } else if (run->code == 0) {
    print_report(*report);
  }
}

/// The line that runs one seed again.
std::string replay(const LaunchOptions& launch, std::uint64_t seed) {
  std::string line =
      fmt::format("weft run --fabric {} -n {} --seed {}", launch.fabric, launch.processes, seed);
  if (launch.restart) line += " --restart on-failure";
  return fmt::format("{} -- {}", line, fmt::join(launch.command, " "));
}

struct Sums {
  std::uint64_t crashes = 0, restarts = 0, events = 0;
  double simulated_s = 0;
};

Sums sum_of(const std::vector<std::string>& reports) {
  Sums sums;
  for (const std::string& text : reports) {
    const auto report = read_report(text);
    if (!report) continue;
    sums.crashes += report->at("crashes").get<std::uint64_t>();
    sums.restarts += report->at("restarts").get<std::uint64_t>();
    sums.events += report->at("events").get<std::uint64_t>();
    sums.simulated_s += report->at("simulated_s").get<double>();
  }
  return sums;
}

void print_swarm(const LaunchOptions& launch, const ProgramSwarmOutcome& o, double wall_s,
                 bool json) {
  const Sums sums = sum_of(o.reports);
  if (json) {
    Json all = {{"runs", o.runs},           {"failures", o.failures.size()},
                {"first_failure", nullptr}, {"results", o.results},
                {"crashes", sums.crashes},  {"restarts", sums.restarts},
                {"events", sums.events},    {"simulated_s", sums.simulated_s},
                {"wall_s", wall_s},         {"failed_seeds", Json::array()}};
    if (!o.failures.empty()) {
      all["first_failure"] = replay(launch, o.failures[0].seed);
      all["what"] = o.failures[0].what;
    }
    for (std::size_t i = 0; i < std::min(o.failures.size(), most_printed); ++i) {
      all["failed_seeds"].push_back(o.failures[i].seed);
    }
    fmt::print("{}\n", all.dump(-1, ' ', false, Json::error_handler_t::replace));
    return;
  }
  for (const std::string& line : o.results) fmt::print("{}\n", line);
  for (std::size_t i = 0; i < std::min(o.failures.size(), most_printed); ++i) {
    fmt::print("seed {}: {}\n  {}\n", o.failures[i].seed, o.failures[i].what,
               replay(launch, o.failures[i].seed));
  }
  if (o.results.empty()) {
    fmt::print("no line of the output has the word checksum: only exit codes were compared\n");
  }
  if (o.failures.size() > most_printed) {
    fmt::print("and {} more\n", o.failures.size() - most_printed);
  }
  fmt::print("{} seeds, {} failures; {} crashes, {} restarts in {:.1f} s\n", o.runs,
             o.failures.size(), sums.crashes, sums.restarts, wall_s);
}

void run_seeds(const SimulatedLaunch& launch, const SimulationOptions& options, Outcome& outcome) {
  const Instant start = monotonic_now();
  const std::uint64_t all = options.seeds->last - options.seeds->first + 1;
  StatusLine line;
  const auto result = launch_swarm(
      {.each = launch,
       .first = options.seeds->first,
       .last = options.seeds->last,
       .jobs = options.jobs},
      [&](const ProgramSwarmOutcome& so_far) {
        const double done = static_cast<double>(so_far.runs) / static_cast<double>(all);
        line.show(
            {fmt::format("{} of {} seeds", so_far.runs, all),
             share_done(done, std::chrono::nanoseconds((monotonic_now() - start).to_nanoseconds())),
             fmt::format("{} failures", so_far.failures.size())});
      });
  if (!result) return report_error(result.error(), outcome);
  print_swarm(launch.launch, *result, (monotonic_now() - start).to_seconds(), options.json);
  if (!result->failures.empty()) outcome.code = ExitCode::failed;
}

/// Refuses options that only have a meaning for real processes and links.
Result<void> refuse_real_options(const LaunchOptions& launch) {
  const char* given = !launch.link.empty()      ? "--link"
                      : !launch.network.empty() ? "--network"
                      : !launch.file.empty()    ? "--config"
                      : !launch.hosts.empty()   ? "--hosts"
                                                : nullptr;
  if (launch.heartbeat != Duration{}) {
    return invalid(
        "--heartbeat: with --fabric {} a host that is cut off is gone after --peer-timeout, and "
        "weft probes nothing before; leave it out",
        launch.fabric);
  }
  if (given == nullptr) return {};
  return invalid("{}: with --fabric {} hosts and links are those of the scenario; say it there",
                 given, launch.fabric);
}

}  // namespace

void add_simulation_options(CLI::App& command, SimulationOptions& options) {
  constexpr const char* group = "With a simulated fabric";
  command
      .add_option("--seed", options.seed, "seed of all random numbers, in place of the scenario's")
      ->group(group);
  const auto read = [&options](const std::string& text) {
    auto seeds = parse_seeds(text);
    if (!seeds) return seeds.error().message;
    options.seeds = *seeds;
    return std::string();
  };
  add_text_option(
      command, "--seeds", read,
      "run the program with each of these seeds, and compare the lines that have the word "
      "checksum",
      "")
      ->type_name("A..B")
      ->group(group);
  command.add_option("--jobs", options.jobs, "number of seeds to run at a time")
      ->check(CLI::Range(1u, 1024u))
      ->capture_default_str()
      ->group(group);
  command.add_flag("--json", options.json, "print the predictions as one JSON object")
      ->group(group);
}

bool is_of_scenario(const LaunchOptions& launch) {
  return launch.fabric.starts_with("sim:");
}

Result<void> refuse_simulation_options(const SimulationOptions& options) {
  const char* given = options.seed    ? "--seed"
                      : options.seeds ? "--seeds"
                      : options.json  ? "--json"
                                      : nullptr;
  if (given == nullptr) return {};
  return invalid("{}: real processes have none; use --fabric sim:SCENARIO.toml", given);
}

void run_in_simulation(const LaunchOptions& launch, const SimulationOptions& options,
                       Outcome& outcome) {
  if (auto good = refuse_real_options(launch); !good) return report_error(good.error(), outcome);
  // Every process would say the same of it.
  const auto scenario =
      sim::read_fabric_scenario(launch.fabric.substr(std::string_view("sim:").size()));
  if (!scenario) {
    return report_error(
        {scenario.error().code, fmt::format("--fabric: {}", scenario.error().message)}, outcome);
  }
  if (!scenario->qos.empty()) {
    return report_error(invalid("--fabric {}: its [qos] is an experiment with jobs of its own; run "
                                "it with weft qos --scenario",
                                launch.fabric),
                        outcome);
  }
  SimulatedLaunch each{.launch = launch, .seed = options.seed};
  // The program writes past our own buffer.
  std::fflush(stdout);
  if (!options.seeds) return run_one(each, options.json, outcome);
  each.at_most = longest_run;
  run_seeds(each, options, outcome);
}

}  // namespace weft::cli
