// SPDX-License-Identifier: Apache-2.0
// weft simulate SCENARIO; the commands below it have files of their own.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/log.hpp"
#include "base/make_error.hpp"
#include "base/nearest.hpp"
#include "base/units.hpp"
#include "cli/commands.hpp"
#include "cli/network_output.hpp"
#include "cli/odp_options.hpp"
#include "cli/output_directory.hpp"
#include "cli/parsed_option.hpp"
#include "cli/simulate_jobs.hpp"
#include "cli/stream_output.hpp"
#include "cli/suggest.hpp"
#include "cli/team.hpp"
#include "cli/terminal.hpp"
#include "report/run_record.hpp"
#include "sim/scenario/scenario_file.hpp"
#include "sim/traffic_run/traffic_run.hpp"

namespace weft::cli {
namespace {

using Json = nlohmann::ordered_json;

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
          {"traffic", std::move(traffic)},    {"simulation", Json::parse(to_json(run.simulation))}};
}

void print_text(const sim::Scenario& scenario, const TrafficRun& run) {
  fmt::print("{}, {}: {} hosts, {} switches\n", scenario.topology, run.outcome.router,
             run.outcome.hosts, run.outcome.switches);
  Table table({"traffic", "messages", "delivered", "goodput", "latency", "99 %"});
  for (const auto& t : run.outcome.traffic) {
    const auto rate = static_cast<std::uint64_t>(t.goodput_bytes_per_s);
    table.add({std::string(sim::to_text(t.pattern)), fmt::format("{}", t.messages),
               fmt::format("{}", t.delivered), to_text(Bandwidth::bytes_per_second(rate)),
               to_text(Duration(static_cast<std::int64_t>(t.latency_median_ns))),
               to_text(Duration(static_cast<std::int64_t>(t.latency_p99_ns)))});
  }
  table.print();
  print_text(run.simulation, scenario.seed);
}

void write_traffic(const std::string& directory, const Json& json, Outcome& outcome) {
  const std::string path = (std::filesystem::path(directory) / "simulation.json").string();
  if (auto written = report::write_file_whole(path, json.dump() + "\n"); !written) {
    report_error({ErrorCode::io, "--out: " + written.error().message}, outcome);
  }
}

void simulate_traffic(const sim::Scenario& scenario, const SimulateCommand& command, Team& team,
                      Outcome& outcome) {
  // Parts of a divided simulation see their own links only.
  NetworkOutput output(team.parts() > 1 ? "" : command.out, command.trace, command.json);
  const auto network = output.begin();
  if (!network) return report_error(network.error(), outcome);
  const auto run = run_traffic(scenario, team, *network);
  if (!run) return report_error(run.error(), outcome);
  if (auto good = output.end(); !good) return report_error(good.error(), outcome);
  Json json = to_json(scenario, *run);
  if (!command.json) print_text(scenario, *run);
  if (command.check_determinism) {
    const auto second = simulation_of(run_traffic(scenario, team));
    const auto same = compare(run->simulation, second, command.json, outcome);
    if (same) json["simulation"]["deterministic"] = *same;
  }
  if (command.json) fmt::print("{}\n", json.dump());
  if (command.out.empty() || !team.leads()) return;
  write_traffic(command.out, json, outcome);
  if (team.parts() > 1 || outcome.code == ExitCode::system) return;
  for (const char* other : {"run.json", "compare.json"}) {
    forget_record(command.out, other, command.trace.replaces);
  }
  report::NetworkRecord about{.command = outcome.command_line, .seed = scenario.seed};
  for (const auto& entry : scenario.entries) {
    if (!entry.value.empty()) about.parameters.emplace_back(entry.key, entry.value);
  }
  if (auto written = output.write(std::move(about)); !written) {
    return report_error(written.error(), outcome);
  }
  announce_report(command.out, command.json, outcome);
}

/// The keys and values of a scenario's file.
std::string text_of(const Result<sim::Scenario>& scenario) {
  std::string text;
  if (!scenario) return text;
  for (const auto& entry : scenario->entries) text += entry.key + '=' + entry.value + '\n';
  return text;
}

/// Options of `weft simulate SCENARIO` mean nothing to the commands below it.
void refuse_options_before(const CLI::App& simulate) {
  const std::string below = simulate.get_subcommands().front()->get_name();
  for (const CLI::Option* option : simulate.get_options([](const CLI::Option*) { return true; })) {
    if (option->empty()) continue;
    throw CLI::ValidationError(option->get_name(),
                               fmt::format("weft simulate {0} has no use for it here; write it "
                                           "behind {0} if that knows it",
                                           below));
  }
}

/// An error when `scenario` is no file, and looks like the name of a command below.
std::string mistyped_command(const CLI::App& simulate, const std::string& scenario) {
  std::error_code error;
  const std::string guess = nearest(scenario, commands_of(simulate));
  if (guess.empty() || std::filesystem::exists(scenario, error)) return {};
  return fmt::format("there is no file '{}'; did you mean {} {}?", scenario, full_name(simulate),
                     guess);
}

/// Refuses outputs of the command that are other files of it; those of jobs are looked at later.
Result<void> check_files(const SimulateCommand& command, const sim::Scenario& scenario) {
  CommandFiles others{.read = files_of(scenario), .directories = {command.out}};
  if (!command.capture.empty()) {
    if (scenario.jobs.empty()) {
      return invalid(
          "--capture {}: {} has no jobs, and only their adapters' packets are captured; "
          "leave it out",
          command.capture, command.scenario);
    }
    auto good = refuse_other_files("--capture", command.capture, others);
    if (!good) return good;
    others.written.push_back(command.capture);
  }
  return NetworkOutput(command.out, command.trace, command.json).check({}, std::move(others));
}

void run_simulate_command(const SimulateCommand& command, Outcome& outcome) {
  set_up_log(command.log_level, "");
  const auto team = Team::assemble(command.parts, outcome);
  if (!team) return report_error(team.error(), outcome);
  auto scenario = sim::read_scenario(command.scenario, command.settings);
  Result<void> good = scenario ? Result<void>() : scenario.error();
  if (good.ok()) good = check_trace_in_parts(command.trace, (*team)->parts());
  if (good.ok()) good = check_files(command, *scenario);
  if (good.ok() && command.no_limit && scenario->jobs.empty()) {
    good = invalid("--no-limit: {} has no job whose limit could be measured; leave it out",
                   command.scenario);
  }
  if (good.ok()) good = prepare_directory(command.out, command.trace.replaces);
  if (auto agreed = (*team)->agree(good, text_of(scenario)); !agreed) {
    return report_error(agreed.error(), outcome);
  }
  if (command.seed) scenario->seed = *command.seed;
  if (command.compare_avoidance) {
    run_stoppable(outcome, [&] { compare_avoidance(*scenario, command, **team, outcome); });
  } else if (scenario->jobs.empty()) {
    run_stoppable(outcome, [&] { simulate_traffic(*scenario, command, **team, outcome); });
  } else {
    simulate_jobs(*scenario, command, **team, outcome);
  }
}

}  // namespace

void add_simulate_command(CLI::App& root, Outcome& outcome) {
  auto* simulate = root.add_subcommand(
      "simulate", "Simulate a scenario's network and its traffic, packet by packet");
  auto state = std::make_shared<SimulateCommand>();
  SimulateCommand& s = *state;
  simulate->add_option("SCENARIO", s.scenario, "TOML file; see docs/simulator-scenarios.md")
      ->type_name("FILE")
      ->check([simulate](const std::string& text) { return mistyped_command(*simulate, text); });
  simulate
      ->add_option("--set", s.settings,
                   "replace a key of the scenario (several allowed), as "
                   "network.router=minimal or noise.every=1ms")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  simulate->add_option("--seed", s.seed, "seed of all random numbers; by default the scenario's")
      ->type_name("UINT");
  add_parts_option(*simulate, s.parts);
  simulate->add_flag("--check-determinism", s.check_determinism,
                     "run twice and compare the traces");
  simulate->add_flag(
      "--compare-avoidance", s.compare_avoidance,
      "compare a stream over paged memory without a remedy, with each remedy against packet "
      "damming, and over pinned memory");
  add_parsed(*simulate, "--capture", s.capture, parse_capture_name,
             "write the packets of the adapters at one host to this .pcap, .pcapng or .erf file")
      ->type_name("FILE");
  simulate
      ->add_option("--capture-host", s.capture_host, "number of the host that --capture records")
      ->capture_default_str();
  simulate->add_flag("--no-limit", s.no_limit, "do not measure the limit of the job");
  simulate->add_option("--log", s.log_level, "error, warning, info or debug")
      ->check(CLI::IsMember({"error", "warning", "info", "debug"}))
      ->capture_default_str();
  simulate->add_flag("--json", s.json, "print one JSON object")->group("Output");
  simulate->add_option("--out", s.out, "directory for the record and the report")
      ->type_name("DIR")
      ->group("Output");
  add_force_option(*simulate, s.trace.replaces);
  add_trace_options(*simulate, s.trace);
  simulate->require_subcommand(0, 1);
  simulate->footer(
      "Examples:\n"
      "  weft simulate examples/scenarios/faults.toml --seed 7 --check-determinism\n"
      "  weft simulate examples/scenarios/fat-tree-1024.toml --out out/fat-tree --trace "
      "trace.json\n"
      "  mpirun -n 2 weft simulate examples/scenarios/fat-tree-1024.toml --json");
  add_uniform_command(*simulate, outcome);
  add_swarm_command(*simulate, outcome);
  // Before the callbacks of the commands below.
  simulate->parse_complete_callback([simulate] {
    if (!simulate->get_subcommands().empty()) refuse_options_before(*simulate);
  });
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
