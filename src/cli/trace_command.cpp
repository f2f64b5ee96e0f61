// SPDX-License-Identifier: Apache-2.0
// weft trace: examines traces of programs and replays them on simulated networks.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/make_error.hpp"
#include "base/rng.hpp"
#include "base/units.hpp"
#include "cli/commands.hpp"
#include "cli/parsed_option.hpp"
#include "sim/scenario/scenario_file.hpp"
#include "trace/replay/trace.hpp"

namespace weft::cli {
namespace {

struct TraceFiles {
  std::vector<std::string> files;
  bool json = false;
};

struct ReplayCommand {
  TraceFiles traces;
  std::string scenario;
  std::vector<std::string> settings;
  std::optional<std::uint64_t> seed;
  double compute_factor = 1;
  ByteCount eager = ByteCount::kib(16);
  std::uint32_t iterations = 1;
};

/// A trace that has been looked at.
struct Examined {
  std::string file;
  std::unique_ptr<trace::Trace> trace;
  trace::Summary summary;
};

Result<Examined> examine(const std::string& file) {
  auto trace = trace::open_trace(file);
  if (!trace) return std::move(trace).error();
  auto summary = (*trace)->examine();
  if (!summary) return std::move(summary).error();
  return Examined{file, std::move(trace).value(), std::move(summary).value()};
}

nlohmann::ordered_json to_json(const Examined& e) {
  const trace::Summary& s = e.summary;
  return {{"trace", e.file},          {"ranks", s.ranks},    {"events", s.events},
          {"messages", s.messages},   {"bytes", s.bytes},    {"collectives", s.collectives},
          {"unmatched", s.unmatched}, {"seconds", s.seconds}};
}

void print_text(const Examined& e) {
  const trace::Summary& s = e.summary;
  fmt::print("{}\n", e.file);
  fmt::print("  ranks        {}\n  events       {}\n", s.ranks, s.events);
  fmt::print("  messages     {}, {}\n", s.messages, to_text(ByteCount(s.bytes)));
  fmt::print("  collectives  {}\n  seconds      {:.6g}\n", s.collectives, s.seconds);
  fmt::print("  unmatched    {}{}\n", s.unmatched, s.unmatched > 0 ? ": see weft trace check" : "");
}

void run_info(const TraceFiles& command, Outcome& outcome) {
  for (const std::string& file : command.files) {
    const auto examined = examine(file);
    if (!examined) return report_error(examined.error(), outcome);
    if (command.json) {
      fmt::print("{}\n", to_json(*examined).dump());
    } else {
      print_text(*examined);
    }
  }
}

/// A consistent trace, or an error that says what does not fit.
Result<Examined> examine_complete(const std::string& file) {
  auto examined = examine(file);
  if (!examined || examined->summary.problem.empty()) return examined;
  return Error{ErrorCode::corrupt, examined->summary.problem};
}

void run_check(const TraceFiles& command, Outcome& outcome) {
  for (const std::string& file : command.files) {
    const auto examined = examine_complete(file);
    if (!examined) {
      report_error(examined.error(), outcome);
      continue;
    }
    if (command.json) {
      fmt::print("{}\n", to_json(*examined).dump());
    } else {
      fmt::print("{}: complete\n", file);
    }
  }
}

/// One replay: the trace and the outcome.
struct Iteration {
  std::size_t trace = 0;
  trace::ReplayOutcome outcome;
};

Result<std::vector<Examined>> examine_all(const ReplayCommand& command) {
  std::vector<Examined> traces;
  for (const std::string& file : command.traces.files) {
    auto examined = examine_complete(file);
    if (!examined) return std::move(examined).error();
    if (!traces.empty() && examined->summary.ranks != traces[0].summary.ranks) {
      return invalid(
          "{}: it has {} ranks and {} has {}: give traces of one program with as many ranks each",
          file, examined->summary.ranks, traces[0].file, traces[0].summary.ranks);
    }
    traces.push_back(std::move(examined).value());
  }
  return traces;
}

Result<trace::ReplayOptions> resolve(const ReplayCommand& command) {
  if (!(command.compute_factor >= 0) || command.compute_factor > 1e6) {
    return invalid(
        "--compute-factor: {} is not from 0 to 1000000; 1 computes as long as was recorded",
        command.compute_factor);
  }
  auto scenario = sim::read_scenario(command.scenario, command.settings);
  if (!scenario) return std::move(scenario).error();
  trace::ReplayOptions options{.scenario = std::move(scenario).value(),
                               .eager_bytes = command.eager.value()};
  if (command.seed) options.scenario.seed = *command.seed;
  return options;
}

Result<std::vector<Iteration>> replay_all(const ReplayCommand& command,
                                          const std::vector<Examined>& traces,
                                          const trace::ReplayOptions& options) {
  Rng rng(options.scenario.seed);
  std::vector<Iteration> done;
  for (std::uint32_t i = 0; i < command.iterations; ++i) {
    const auto chosen = traces.size() > 1 ? static_cast<std::size_t>(rng.below(traces.size())) : 0;
    auto outcome = trace::replay_trace(*traces[chosen].trace, command.compute_factor, options);
    if (!outcome) return std::move(outcome).error();
    done.push_back({chosen, *outcome});
  }
  return done;
}

void print_replay(const ReplayCommand& command, const std::vector<Examined>& traces,
                  const std::vector<Iteration>& iterations, std::uint64_t seed) {
  double predicted_s = 0;
  double recorded_s = 0;
  trace::ReplayOutcome sum;
  nlohmann::ordered_json each = nlohmann::ordered_json::array();
  for (const Iteration& i : iterations) {
    predicted_s += i.outcome.predicted_s / static_cast<double>(iterations.size());
    recorded_s += traces[i.trace].summary.seconds / static_cast<double>(iterations.size());
    sum.messages += i.outcome.messages;
    sum.bytes += i.outcome.bytes;
    sum.waited_s += i.outcome.waited_s;
    each.push_back({{"trace", traces[i.trace].file}, {"predicted_s", i.outcome.predicted_s}});
  }
  const bool measured = traces[0].summary.is_measured;
  if (command.traces.json) {
    nlohmann::ordered_json json{
        {"scenario", command.scenario},
        {"ranks", traces[0].summary.ranks},
        {"compute_factor", command.compute_factor},
        {"predicted_s", predicted_s},
        {"recorded_s", measured ? nlohmann::ordered_json(recorded_s) : nlohmann::ordered_json()},
        {"messages", sum.messages},
        {"bytes", sum.bytes},
        {"waited_s", sum.waited_s},
        {"iterations", std::move(each)},
        {"seed", seed}};
    fmt::print("{}\n", json.dump());
    return;
  }
  fmt::print("predicted  {:.6g} s", predicted_s);
  if (measured && recorded_s > 0) {
    fmt::print(", recorded {:.6g} s ({:+.1f} %)", recorded_s, (predicted_s / recorded_s - 1) * 100);
  }
  fmt::print("\n");
  fmt::print("messages   {}, {}, of {} ranks\n", sum.messages, to_text(ByteCount(sum.bytes)),
             traces[0].summary.ranks);
  if (iterations.size() > 1) {
    fmt::print("iterations {}, each with one of {} traces, seed {}\n", iterations.size(),
               traces.size(), seed);
  }
}

void run_replay(const ReplayCommand& command, Outcome& outcome) {
  const auto options = resolve(command);
  if (!options) return report_error(options.error(), outcome);
  const auto traces = examine_all(command);
  if (!traces) return report_error(traces.error(), outcome);
  const auto iterations = replay_all(command, *traces, *options);
  if (!iterations) return report_error(iterations.error(), outcome);
  print_replay(command, *traces, *iterations, options->scenario.seed);
}

void add_files(CLI::App& command, TraceFiles& files) {
  command
      .add_option("FILE", files.files,
                  "traces: the anchor file of an OTF2 archive (traces.otf2), or GOAL text")
      ->required()
      ->type_name("FILE");
  command.add_flag("--json", files.json, "print one JSON object for each");
}

void add_replay_command(CLI::App& trace, Outcome& outcome) {
  auto* replay =
      trace.add_subcommand("replay", "Replay a trace with simulated ranks on a scenario's network");
  auto state = std::make_shared<ReplayCommand>();
  ReplayCommand& s = *state;
  add_files(*replay, s.traces);
  replay
      ->add_option("--scenario", s.scenario,
                   "TOML file with the network and the placement of ranks; its jobs are ignored")
      ->required()
      ->type_name("FILE");
  replay->add_option("--set", s.settings, "replace a key of the scenario (several allowed)")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  replay->add_option("--seed", s.seed, "seed of all random numbers; by default the scenario's")
      ->type_name("UINT");
  replay
      ->add_option("--compute-factor", s.compute_factor,
                   "multiply the recorded computation time by this factor")
      ->type_name("NUMBER")
      ->capture_default_str();
  add_parsed(*replay, "--eager", s.eager, parse_byte_count,
             "largest message of the eager protocol; longer ones use rendezvous", to_text(s.eager));
  replay
      ->add_option("--iterations", s.iterations,
                   "number of replays; each takes one of the traces at random")
      ->check(CLI::Range(1U, 1'000'000U))
      ->type_name("UINT")
      ->capture_default_str();
  replay->footer(
      "Example:\n"
      "  weft trace replay examples/traces/ring-8.goal --scenario "
      "examples/scenarios/star-100mbit.toml");
  replay->callback([state, &outcome] { run_replay(*state, outcome); });
}

}  // namespace

void add_trace_command(CLI::App& root, Outcome& outcome) {
  auto* trace =
      root.add_subcommand("trace", "Record, inspect and replay traces of parallel programs");
  trace->require_subcommand(1);
  auto* info = trace->add_subcommand("info", "Count the events and messages of traces");
  auto info_state = std::make_shared<TraceFiles>();
  add_files(*info, *info_state);
  info->footer("Example:\n  weft trace info examples/traces/ring-8.goal --json");
  info->callback([info_state, &outcome] { run_info(*info_state, outcome); });
  auto* check = trace->add_subcommand(
      "check",
      "Find unmatched, truncated or inconsistent records; the exit code is 1 if there are any");
  auto check_state = std::make_shared<TraceFiles>();
  add_files(*check, *check_state);
  check->footer("Example:\n  weft trace check examples/traces/ring-8.goal");
  check->callback([check_state, &outcome] { run_check(*check_state, outcome); });
  add_replay_command(*trace, outcome);
  add_trace_record_command(*trace, outcome);
  trace->footer(
      "Examples:\n"
      "  weft trace info examples/traces/ring-8.goal\n"
      "  weft trace replay examples/traces/ring-8.goal --scenario "
      "examples/scenarios/star-100mbit.toml --compute-factor 0.5");
}

}  // namespace weft::cli
