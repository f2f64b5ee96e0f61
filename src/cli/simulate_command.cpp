// SPDX-License-Identifier: Apache-2.0
// weft simulate SCENARIO; what is below it has files of its own.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "base/log.hpp"
#include "base/units.hpp"
#include "cli/commands.hpp"
#include "cli/parsed_option.hpp"
#include "cli/scenario_job.hpp"
#include "cli/stream_output.hpp"
#include "cli/stream_run.hpp"
#include "runtime/clock.hpp"
#include "sim/scenario/scenario_file.hpp"
#include "stream/node/node_report.hpp"
#include "stream/simulated/scenario_check.hpp"
#include "stream/simulated/simulated_job.hpp"
#include "stream/simulated/simulated_traffic.hpp"

namespace weft::cli {
namespace {

using Json = nlohmann::ordered_json;

struct SimulateCommand {
  std::string scenario;
  std::vector<std::string> settings;
  std::optional<std::uint64_t> seed;
  bool check_determinism = false;
  bool no_limit = false;
  bool json = false;
  std::string out;
  std::string log_level = "warning";
};

/// What a simulation says of itself, whatever ran in it.
struct Simulation {
  std::uint64_t trace_hash = 0;
  std::uint64_t events = 0;
  std::uint64_t packet_hops = 0;
  Duration simulated{};
  double wall_s = 0;
};

Json to_json(const Simulation& s) {
  return {{"trace_hash", fmt::format("{:016x}", s.trace_hash)},
          {"events", s.events},
          {"packet_hops", s.packet_hops},
          {"simulated_s", s.simulated.to_seconds()},
          {"wall_s", s.wall_s}};
}

void print_text(const Simulation& s, std::uint64_t seed) {
  fmt::print("simulated    {} in {:.3g} s: {} events, {} packet-hops\n", to_text(s.simulated),
             s.wall_s, s.events, s.packet_hops);
  fmt::print("trace        {:016x}, seed {}\n", s.trace_hash, seed);
}

/// Holds a second run against the first. Whether they did the same.
bool compare(const Simulation& first, const Result<Simulation>& second, bool json,
             Outcome& outcome) {
  if (!second) {
    report_error(second.error(), outcome);
    return false;
  }
  if (first.trace_hash == second->trace_hash && first.events == second->events) {
    if (!json) fmt::print("a second run did the same\n");
    return true;
  }
  fmt::print(stderr, "weft: two runs with one seed differ: traces {:016x} and {:016x}\n",
             first.trace_hash, second->trace_hash);
  outcome.code = ExitCode::failed;
  return false;
}

/// A scenario's job and what became of it.
struct JobRun {
  report::RunRecord record;
  Simulation simulation;
};

Result<JobRun> run_job(const sim::Scenario& scenario, const StreamSettings& settings) {
  LocalOptions local = settings.local;
  ProgressLine line(settings.stream.schedule);
  if (line.wanted() && !settings.json) {
    local.on_progress = [&line](const StreamProgress& p) { line.show(p); };
  }
  const Instant start = monotonic_now();
  stream::SimulationTrace trace;
  auto reports = stream::run_simulated_job(scenario, settings.stream, local,
                                           stream::stream_node_factory(settings.stream), &trace);
  if (!reports) return std::move(reports).error();
  return JobRun{.record = stream::merge_reports(settings.stream, *reports),
                .simulation = {.trace_hash = trace.trace_hash,
                               .events = trace.events,
                               .packet_hops = trace.packet_hops,
                               .simulated = trace.simulated,
                               .wall_s = (monotonic_now() - start).to_seconds()}};
}

Result<Simulation> simulation_of(Result<JobRun> run) {
  if (!run) return std::move(run).error();
  return run->simulation;
}

void write_job(const StreamSettings& settings, const report::RunRecord& record, Outcome& outcome) {
  if (settings.out.empty()) return;
  forget_record(settings.out, "compare.json");
  if (auto written = report::write_run(settings.out, record); !written) {
    return report_error({ErrorCode::io, "--out: " + written.error().message}, outcome);
  }
  announce_report(settings.out, settings.json, outcome);
}

void simulate_job(const sim::Scenario& scenario, const SimulateCommand& command, Outcome& outcome) {
  StreamSettings settings = job_of(scenario);
  settings.stream.sink_in_loop = true;
  settings.json = command.json;
  settings.out = command.out;
  settings.no_limit = settings.no_limit || command.no_limit;
  settings.local.executable_command = outcome.command_line;
  settings.local.scenario_settings = command.settings;
  if (auto good = check_options(settings.stream); !good) {
    return report_error(scenario.located("job", good.error()), outcome);
  }
  if (auto good = stream::check_in_scenario(scenario, settings.stream, settings.local); !good) {
    return report_error(scenario.located("job", good.error()), outcome);
  }
  auto run = run_job(scenario, settings);
  if (!run) return report_error(run.error(), outcome);
  std::vector<report::RunRecord> records{run->record};
  if (auto measured = measure_limit(settings, records); !measured) {
    return report_error(measured.error(), outcome);
  }
  describe(settings, records[0]);
  if (!is_sound(records[0])) outcome.code = ExitCode::failed;
  Json json = Json::parse(report::to_json(records[0], report::RecordForm::summary));
  json["simulation"] = to_json(run->simulation);
  if (!command.json) {
    print_table(records);
    print_text(run->simulation, scenario.seed);
  }
  if (command.check_determinism) {
    const auto second = simulation_of(run_job(scenario, settings));
    json["simulation"]["deterministic"] = compare(run->simulation, second, command.json, outcome);
  }
  if (command.json) fmt::print("{}\n", json.dump());
  write_job(settings, records[0], outcome);
}

/// A scenario's traffic and what became of it.
struct TrafficRun {
  stream::TrafficOutcome outcome;
  Simulation simulation;
};

Result<TrafficRun> run_traffic(const sim::Scenario& scenario) {
  const Instant start = monotonic_now();
  auto ran = stream::run_simulated_traffic(scenario);
  if (!ran) return std::move(ran).error();
  const Simulation simulation{.trace_hash = ran->trace_hash,
                              .events = ran->events,
                              .packet_hops = ran->packet_hops,
                              .simulated = ran->simulated,
                              .wall_s = (monotonic_now() - start).to_seconds()};
  return TrafficRun{*std::move(ran), simulation};
}

Result<Simulation> simulation_of(Result<TrafficRun> run) {
  if (!run) return std::move(run).error();
  return run->simulation;
}

Json to_json(const sim::Scenario& scenario, const TrafficRun& run) {
  Json traffic = Json::array();
  for (const auto& t : run.outcome.traffic) {
    traffic.push_back({{"pattern", sim::to_text(t.pattern)},
                       {"messages", t.messages},
                       {"delivered", t.delivered},
                       {"bytes", t.bytes},
                       {"goodput_bytes_per_s", t.goodput_bytes_per_s},
                       {"latency_median_ns", t.latency_median_ns},
                       {"latency_p99_ns", t.latency_p99_ns}});
  }
  return {{"scenario", scenario.name},        {"topology", scenario.topology},
          {"router", run.outcome.router},     {"hosts", run.outcome.hosts},
          {"switches", run.outcome.switches}, {"seed", scenario.seed},
          {"traffic", std::move(traffic)},    {"simulation", to_json(run.simulation)}};
}

void print_text(const sim::Scenario& scenario, const TrafficRun& run) {
  fmt::print("{}, {}: {} hosts, {} switches\n", scenario.topology, run.outcome.router,
             run.outcome.hosts, run.outcome.switches);
  fmt::print("{:<12} {:>10} {:>10} {:>12} {:>12} {:>12}\n", "traffic", "messages", "delivered",
             "goodput", "latency", "99 %");
  for (const auto& t : run.outcome.traffic) {
    const auto rate = static_cast<std::uint64_t>(t.goodput_bytes_per_s);
    fmt::print("{:<12} {:>10} {:>10} {:>12} {:>12} {:>12}\n", sim::to_text(t.pattern), t.messages,
               t.delivered, to_text(Bandwidth::bytes_per_second(rate)),
               to_text(Duration(static_cast<std::int64_t>(t.latency_median_ns))),
               to_text(Duration(static_cast<std::int64_t>(t.latency_p99_ns))));
  }
  print_text(run.simulation, scenario.seed);
}

void write_traffic(const std::string& directory, const Json& json, Outcome& outcome) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    return report_error({ErrorCode::io, fmt::format("--out: {}: {}", directory, error.message())},
                        outcome);
  }
  const std::string path = (std::filesystem::path(directory) / "simulation.json").string();
  if (auto written = report::write_file_whole(path, json.dump() + "\n"); !written) {
    report_error({ErrorCode::io, "--out: " + written.error().message}, outcome);
  }
}

void simulate_traffic(const sim::Scenario& scenario, const SimulateCommand& command,
                      Outcome& outcome) {
  const auto run = run_traffic(scenario);
  if (!run) return report_error(run.error(), outcome);
  Json json = to_json(scenario, *run);
  if (!command.json) print_text(scenario, *run);
  if (command.check_determinism) {
    const auto second = simulation_of(run_traffic(scenario));
    json["simulation"]["deterministic"] = compare(run->simulation, second, command.json, outcome);
  }
  if (command.json) fmt::print("{}\n", json.dump());
  if (!command.out.empty()) write_traffic(command.out, json, outcome);
}

void run_simulate_command(const SimulateCommand& command, Outcome& outcome) {
  set_up_log(command.log_level, "");
  auto scenario = sim::read_scenario(command.scenario, command.settings);
  if (!scenario) return report_error(scenario.error(), outcome);
  if (command.seed) scenario->seed = *command.seed;
  if (scenario->job.empty()) {
    simulate_traffic(*scenario, command, outcome);
  } else {
    simulate_job(*scenario, command, outcome);
  }
}

}  // namespace

void add_simulate_command(CLI::App& root, Outcome& outcome) {
  auto* simulate = root.add_subcommand(
      "simulate", "simulate a network, packet by packet, and what a scenario sends through it");
  auto state = std::make_shared<SimulateCommand>();
  SimulateCommand& s = *state;
  simulate->add_option("SCENARIO", s.scenario, "TOML file; docs/simulator.md lists its keys")
      ->type_name("FILE");
  simulate
      ->add_option("--set", s.settings,
                   "a key of the scenario and what it is instead (several allowed), as "
                   "network.router=minimal or noise.every=1ms")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  simulate->add_option("--seed", s.seed, "of everything random; by default the scenario's")
      ->type_name("UINT");
  simulate->add_flag("--check-determinism", s.check_determinism,
                     "run twice and compare the traces");
  simulate->add_flag("--no-limit", s.no_limit, "do not measure the limit of the job");
  simulate->add_option("--log", s.log_level, "error, warning, info or debug")
      ->check(CLI::IsMember({"error", "warning", "info", "debug"}))
      ->capture_default_str();
  simulate->add_flag("--json", s.json, "print one JSON object");
  simulate->add_option("--out", s.out, "directory for the record and the report");
  refuse_negative_numbers(*simulate);
  simulate->require_subcommand(0, 1);
  simulate->footer(
      "Examples:\n"
      "  weft simulate examples/scenarios/faults.toml --seed 7 --check-determinism\n"
      "  weft simulate examples/scenarios/fat-tree-1024.toml --no-limit --out out/fat-tree\n"
      "  weft simulate uniform --topology fat-tree:1024 --load 0.7 --packet 4KiB --json");
  add_uniform_command(*simulate, outcome);
#ifdef WEFT_WITH_SWARM
  add_swarm_command(*simulate, outcome);
#endif
  simulate->callback([simulate, state, &outcome] {
    if (!simulate->get_subcommands().empty()) return;
    if (state->scenario.empty()) {
      throw CLI::ValidationError("SCENARIO",
                                 "give a scenario, such as examples/scenarios/faults.toml, or a "
                                 "command: see weft simulate --help");
    }
    run_simulate_command(*state, outcome);
  });
}

}  // namespace weft::cli
