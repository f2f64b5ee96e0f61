// SPDX-License-Identifier: Apache-2.0
// weft qos: experiments with service levels.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "base/units.hpp"
#include "cli/commands.hpp"
#include "cli/output_directory.hpp"
#include "cli/parsed_option.hpp"
#include "cli/qos_report.hpp"
#include "cli/terminal.hpp"
#include "qos/experiment.hpp"
#include "report/run_record.hpp"
#include "runtime/clock.hpp"
#include "runtime/stop_signals.hpp"
#include "sim/scenario/scenario_file.hpp"

namespace weft::cli {
namespace {

using Json = nlohmann::ordered_json;

struct QosCommand {
  std::string scenario;
  std::vector<std::string> settings;
  std::optional<std::string> controller;
  std::optional<std::uint32_t> iterations;
  std::optional<std::uint32_t> placements;
  std::optional<std::uint64_t> seed;
  unsigned threads = std::max(1U, std::thread::hardware_concurrency());
  bool json = false;
  bool replaces = false;
  std::string out;
};

/// Linear interpolation between the two nearest order statistics.
double median_of(std::vector<double> values) {
  const auto quantiles = report::quantiles_of(std::move(values));
  return quantiles ? quantiles->median : 0;
}

struct Summary {
  double median = 0, mean = 0, best = 0, worst = 0;
};

Summary summary_of(const std::vector<double>& improvements) {
  Summary s{.median = median_of(improvements)};
  if (improvements.empty()) return s;
  for (const double i : improvements) s.mean += i / static_cast<double>(improvements.size());
  s.best = *std::max_element(improvements.begin(), improvements.end());
  s.worst = *std::min_element(improvements.begin(), improvements.end());
  return s;
}

Result<qos::ExperimentOptions> resolve(const QosCommand& command) {
  auto scenario = sim::read_scenario(command.scenario, command.settings);
  if (!scenario) return std::move(scenario).error();
  if (command.seed) scenario->seed = *command.seed;
  auto options = qos::options_of(std::move(scenario).value());
  if (!options) return options;
  if (command.controller) options->controller = *command.controller;
  if (command.iterations) options->iterations = *command.iterations;
  if (command.placements) options->placements = *command.placements;
  options->threads = command.threads;
  options->replaces = command.replaces;
  if (!command.out.empty()) {
    options->directory = (std::filesystem::path(command.out) / "windows").string();
  }
  return options;
}

Json to_json(const qos::ExperimentOptions& options, const qos::ExperimentOutcome& outcome,
             double wall_s) {
  Json jobs = Json::array();
  std::vector<double> improvements;
  for (const qos::JobOutcome& job : outcome.jobs) {
    improvements.push_back(job.improvement());
    jobs.push_back({{"name", job.name},
                    {"kind", job.kind},
                    {"placement", job.placement},
                    {"default_of_isolation", job.default_of_isolation()},
                    {"controlled_of_isolation", job.controlled_of_isolation()},
                    {"improvement", job.improvement()}});
  }
  const Summary s = summary_of(improvements);
  return {{"scenario", options.scenario.name}, {"controller", options.controller},
          {"iterations", options.iterations},  {"placements", options.placements},
          {"seed", options.scenario.seed},     {"wall_s", wall_s},
          {"jobs", std::move(jobs)},           {"median_improvement", s.median},
          {"mean_improvement", s.mean},        {"best_improvement", s.best},
          {"worst_improvement", s.worst},      {"iterations_to_best", outcome.iterations_to_best}};
}

std::string percent(double fraction) {
  return fmt::format("{:+.1f} %", fraction * 100);
}

void print_text(const qos::ExperimentOptions& options, const qos::ExperimentOutcome& outcome) {
  struct Kind {
    std::vector<double> on_default, controlled, improvements;
  };
  std::map<std::string, Kind> kinds;
  std::vector<double> all;
  for (const qos::JobOutcome& job : outcome.jobs) {
    Kind& kind = kinds[job.kind];
    kind.on_default.push_back(job.default_of_isolation());
    kind.controlled.push_back(job.controlled_of_isolation());
    kind.improvements.push_back(job.improvement());
    all.push_back(job.improvement());
  }
  fmt::print("{}, {} placements, {} iterations of {}\n", options.controller, options.placements,
             options.iterations, to_text(options.period));
  Table table({"jobs", "default of isolation", "controlled", "improvement: median", "mean", "best",
               "worst"});
  const auto row = [&](const std::string& name, const std::string& before, const std::string& after,
                       const std::vector<double>& improvements) {
    const Summary s = summary_of(improvements);
    table.add({name, before, after, percent(s.median), percent(s.mean), percent(s.best),
               percent(s.worst)});
  };
  for (const auto& [name, kind] : kinds) {
    row(name, percent(median_of(kind.on_default)), percent(median_of(kind.controlled)),
        kind.improvements);
  }
  row("all", "", "", all);
  table.print();
  fmt::print("nothing was tried any more after {} of {} iterations, seed {}\n",
             outcome.iterations_to_best, options.iterations, options.scenario.seed);
}

Result<qos::ExperimentOutcome> run(const qos::ExperimentOptions& options,
                                   const StopSignals& signals) {
  const Instant begun = monotonic_now();
  StatusLine line;
  return qos::run_experiment(options, [&](std::uint64_t done, std::uint64_t of) {
    const std::chrono::duration<double> taken((monotonic_now() - begun).to_seconds());
    line.show({fmt::format("{} of {} windows", done, of),
               share_done(static_cast<double>(done) / static_cast<double>(of), taken)});
    return !signals.came();
  });
}

void run_qos_command(const QosCommand& command, Outcome& outcome) {
  // A window of a large network takes a while, so that a second signal ends the command at once.
  // The directory keeps finished windows.
  const StopSignals signals(StopSignals::Second::kills);
  const auto options = resolve(command);
  if (!options) return report_error(options.error(), outcome);
  if (auto good = prepare_directory(command.out, command.replaces); !good) {
    return report_error(good.error(), outcome);
  }
  if (auto good = prepare_directory(options->directory, true); !good) {
    return report_error(good.error(), outcome);
  }
  const Instant begun = monotonic_now();
  const auto result = run(*options, signals);
  if (!result && result.error().code == ErrorCode::cancelled && !command.out.empty()) {
    fmt::print(stderr, "weft: what was simulated is in {}; the same command goes on from there\n",
               options->directory);
  }
  if (!result) return report_error(result.error(), outcome);
  const Json json = to_json(*options, *result, (monotonic_now() - begun).to_seconds());
  if (!command.out.empty()) {
    const std::string path = (std::filesystem::path(command.out) / "qos.json").string();
    if (auto written = report::write_file_whole(path, json.dump() + "\n"); !written) {
      return report_error({ErrorCode::io, "--out: " + written.error().message}, outcome);
    }
  }
  if (!command.out.empty()) {
    const std::string path = (std::filesystem::path(command.out) / "qos.html").string();
    const std::string page = report::qos_page(record_of(*options, *result, outcome.command_line));
    if (auto written = report::write_file_whole(path, page); !written) {
      return report_error({ErrorCode::io, "--out: " + written.error().message}, outcome);
    }
    if (!command.json) fmt::print("report: {}\n", path);
  }
  if (command.json) {
    fmt::print("{}\n", json.dump());
  } else {
    print_text(*options, *result);
  }
}

void add_counts(CLI::App& qos, QosCommand& s) {
  qos.add_option("--iterations", s.iterations,
                 "windows of the scenario's period; by default the scenario's, or 500")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("UINT");
  qos.add_option("--placements", s.placements,
                 "random assignments of processes to nodes; by default the scenario's, or 8")
      ->check(CLI::Range(1, 10'000))
      ->type_name("UINT");
  qos.add_option("--seed", s.seed, "of everything random; by default the scenario's")
      ->type_name("UINT");
  qos.add_option("--threads", s.threads, "simulations at a time; by default one for each core")
      ->check(CLI::Range(1, 4096))
      ->type_name("UINT");
}

}  // namespace

void add_qos_command(CLI::App& root, Outcome& outcome) {
  auto* qos = root.add_subcommand(
      "qos", "simulate jobs that share a network, and a controller of their service levels");
  auto state = std::make_shared<QosCommand>();
  QosCommand& s = *state;
  qos->add_option("--scenario", s.scenario, "TOML file; docs/qos.md lists its keys")
      ->required()
      ->type_name("FILE");
  qos->add_option("--controller", s.controller,
                  fmt::format("{}; by default the scenario's, or best",
                              fmt::join(qos::controller_names(), ", ")))
      ->type_name("NAME");
  add_counts(*qos, s);
  qos->add_option("--set", s.settings,
                  "a key of the scenario and what it is instead (several allowed), as "
                  "qos.threshold=0.4 or network.router=adaptive")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  qos->add_flag("--json", s.json, "print one JSON object");
  qos->add_option("--out", s.out,
                  "directory for the results, and for what was simulated: run again with it, an "
                  "interrupted experiment goes on")
      ->type_name("DIR")
      ->group("Output");
  add_force_option(*qos, s.replaces);
  refuse_negative_numbers(*qos);
  qos->footer(
      "Examples:\n"
      "  weft qos --scenario examples/scenarios/qos-small.toml --iterations 20 --placements 1\n"
      "  weft qos --scenario examples/scenarios/qos-small.toml --controller algorithm-1 --out "
      "out/qos\n"
      "  weft qos --scenario examples/scenarios/qos-small.toml --set qos.threshold=0.4 --json");
  qos->callback(
      [state, &outcome] { run_stoppable(outcome, [&] { run_qos_command(*state, outcome); }); });
}

}  // namespace weft::cli
