// SPDX-License-Identifier: Apache-2.0
// weft qos: experiments with service levels.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "base/units.hpp"
#include "cli/commands.hpp"
#include "cli/output_directory.hpp"
#include "cli/qos_live.hpp"
#include "cli/qos_report.hpp"
#include "cli/team.hpp"
#include "cli/terminal.hpp"
#include "qos/experiment.hpp"
#include "report/words.hpp"
#include "runtime/clock.hpp"
#include "runtime/stop_signals.hpp"
#include "sim/scenario/scenario_file.hpp"

namespace weft::cli {
namespace {

struct QosCommand {
  std::string scenario;
  std::vector<std::string> settings;
  std::optional<std::string> controller;
  std::optional<std::uint32_t> iterations;
  std::optional<std::uint32_t> placements;
  std::optional<std::uint64_t> seed;
  std::optional<unsigned> threads;
  bool live = false;
  bool json = false;
  bool replaces = false;
  std::string out;
};

/// The team outlives the options.
Result<qos::ExperimentOptions> resolve(const QosCommand& command, Team& team) {
  auto scenario = sim::read_scenario(command.scenario, command.settings);
  if (!scenario) return std::move(scenario).error();
  if (command.seed) scenario->seed = *command.seed;
  auto options = qos::options_of(std::move(scenario).value());
  if (!options) return options;
  if (command.controller) options->controller = *command.controller;
  if (command.iterations) options->iterations = *command.iterations;
  if (command.placements) options->placements = *command.placements;
  if (command.live && command.placements.value_or(1) > 1) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("--placements {}: real processes have one placement; leave it out",
                             *command.placements)};
  }
  options->share = {.rank = team.rank(), .processes = team.processes(), .agree = {}};
  const bool shares = team.processes() > 1;
  if (shares) options->share.agree = [&](const Result<void>& done) { return team.agree(done); };
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  options->threads = command.threads.value_or(shares ? 1 : cores);
  if (shares && (command.out.empty() || command.live)) {
    return Error{ErrorCode::invalid_argument,
                 command.live ? "--live: several processes have been started, and one starts all "
                                "that it needs; run it without mpirun"
                              : "--out: several processes have been started, which meet in a "
                                "directory; name one that all of them see"};
  }
  options->replaces = command.replaces;
  if (!command.out.empty()) {
    options->directory = (std::filesystem::path(command.out) / "windows").string();
  }
  return options;
}

/// "best (model-predictive)": the controller as it was named, and the one that ran.
std::string in_words(const qos::ExperimentOptions& options) {
  const std::string_view chosen = qos::chosen_controller(options.controller, true);
  return chosen == options.controller ? options.controller
                                      : fmt::format("{} ({})", options.controller, chosen);
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
  fmt::print("{}, {}, {} of {}\n", in_words(options),
             report::counted(options.placements, "placement", "placements"),
             report::counted(options.iterations, "iteration", "iterations"),
             to_text(options.period));
  fmt::print("default, controlled: work against isolation; median to worst: improvement\n");
  Table table({"jobs", "default", "controlled", "median", "mean", "best", "worst"});
  const auto row = [&](const std::string& name, const std::string& before, const std::string& after,
                       const std::vector<double>& improvements) {
    const Summary s = summary_of(improvements);
    table.add({name, before, after, report::as_change(s.median), report::as_change(s.mean),
               report::as_change(s.best), report::as_change(s.worst)});
  };
  for (const auto& [name, kind] : kinds) {
    row(name, report::as_change(median_of(kind.on_default)),
        report::as_change(median_of(kind.controlled)), kind.improvements);
  }
  row("all", "", "", all);
  table.print();
  fmt::print("the last change came after {} of {} iterations, seed {}\n",
             outcome.iterations_to_best, options.iterations, options.scenario.seed);
  if (!outcome.absent.empty()) {
    fmt::print(
        "not simulated, since they arrive after the last iteration: {}; use more "
        "--iterations\n",
        fmt::join(outcome.absent, ", "));
  }
}

/// What the command has done so far. A search takes as long as many windows: without its
/// predictions the line would stand still.
class QosProgress {
 public:
  void on_windows(std::uint64_t done, std::uint64_t of) {
    const std::lock_guard lock(mutex_);
    const std::chrono::duration<double> taken((monotonic_now() - begun_).to_seconds());
    windows_ = fmt::format("{} of {} windows", done, of);
    line_.show({windows_, share_done(static_cast<double>(done) / static_cast<double>(of), taken)});
  }
  void on_predictions(std::size_t more) {
    const std::lock_guard lock(mutex_);
    predictions_ += more;
    line_.show({windows_,
                "searching levels: " + report::counted(predictions_, "prediction", "predictions")});
  }

 private:
  const Instant begun_ = monotonic_now();
  std::mutex mutex_;
  StatusLine line_;
  std::string windows_ = "no window yet";
  std::uint64_t predictions_ = 0;
};

Result<qos::ExperimentOutcome> run(qos::ExperimentOptions options, const StopSignals& signals) {
  QosProgress progress;
  options.on_predictions = [&](std::size_t more) { progress.on_predictions(more); };
  return qos::run_experiment(options, [&](std::uint64_t done, std::uint64_t of) {
    progress.on_windows(done, of);
    return !signals.came();
  });
}

Result<void> prepare_directories(const QosCommand& command, const qos::ExperimentOptions& options) {
  auto good = prepare_directory(command.out, command.replaces);
  if (!good || command.live) return good;
  return prepare_directory(options.directory, true);
}

Error with_fix(Error error, const qos::ExperimentOptions& options) {
  if (error.code != ErrorCode::cancelled) return error;
  error.message +=
      options.directory.empty()
          ? "; --out DIR keeps what is simulated, and goes on"
          : fmt::format("; the same command goes on with what is in {}", options.directory);
  return error;
}

void run_qos_command(const QosCommand& command, Outcome& outcome) {
  // A window of a large network takes a while, so that a second signal ends the command at once.
  // The directory keeps finished windows.
  const StopSignals signals(
      StopSignals::Second::kills,
      "weft: ending after the present window or search; a second signal ends this at once\n");
  const auto team = Team::assemble(0, outcome);
  if (!team) return report_error(team.error(), outcome);
  const auto options = resolve(command, **team);
  Result<void> good = options ? Result<void>() : options.error();
  if (good && (*team)->leads()) good = prepare_directories(command, *options);
  if (good = (*team)->agree(good); !good) return report_error(good.error(), outcome);
  if (command.live) return run_qos_live(*options, command.json, command.out, signals, outcome);
  const Instant begun = monotonic_now();
  const auto result = run(*options, signals);
  if (!result) return report_error(with_fix(result.error(), *options), outcome);
  if (!(*team)->leads()) return;
  const report::QosRecord record = record_of(*options, *result, outcome.command_line);
  const std::string json = qos_json(record, (monotonic_now() - begun).to_seconds());
  if (!write_qos(record, json, command.out, !command.json, outcome)) return;
  if (command.json) {
    fmt::print("{}\n", json);
  } else {
    print_text(*options, *result);
  }
}

void add_counts(CLI::App& qos, QosCommand& s) {
  qos.add_option(
         "--iterations", s.iterations,
         "number of windows, each of the scenario's period; by default the scenario's, or 500")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("UINT");
  qos.add_option("--placements", s.placements,
                 "random assignments of processes to nodes; by default the scenario's, or 8")
      ->check(CLI::Range(1, 10'000))
      ->type_name("UINT");
  qos.add_option("--seed", s.seed, "seed of all random numbers; by default the scenario's")
      ->type_name("UINT");
  qos.add_option("--threads", s.threads,
                 "simulations at a time; by default one per core, or one per process under mpirun")
      ->check(CLI::Range(1, 4096))
      ->type_name("UINT");
}

}  // namespace

void add_qos_command(CLI::App& root, Outcome& outcome) {
  auto* qos = root.add_subcommand(
      "qos", "Simulate jobs that share a network, and a controller of their service levels");
  auto state = std::make_shared<QosCommand>();
  QosCommand& s = *state;
  qos->add_option("--scenario", s.scenario, "TOML file; docs/qos.md lists its keys")
      ->required()
      ->type_name("FILE");
  const auto controllers = qos::controller_names();
  qos->add_option("--controller", s.controller,
                  "rule for the processes' levels; by default the scenario's, or best")
      ->check(CLI::IsMember(std::vector<std::string>(controllers.begin(), controllers.end())));
  add_counts(*qos, s);
  qos->add_option("--set", s.settings,
                  "replace a key of the scenario (several allowed), as "
                  "qos.threshold=0.4 or network.router=adaptive")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  qos->add_flag("--live", s.live,
                "run the jobs as real processes in a testbed; also measures levels set by hand");
  qos->add_flag("--json", s.json, "print one JSON object")->group("Output");
  qos->add_option("--out", s.out,
                  "directory for results and simulated windows; the same command continues an "
                  "interrupted experiment")
      ->type_name("DIR")
      ->group("Output");
  add_force_option(*qos, s.replaces);
  qos->get_option("--force")->description(
      "overwrite existing files that are not weft's, and simulate anew kept windows that are "
      "damaged or of another experiment");
  qos->footer(
      "Without --iterations and --placements the scenario's own numbers run: 500 iterations of 8\n"
      "placements of qos-small.toml take about 80 minutes of processor time. --out continues\n"
      "an experiment with more of them.\n\n"
      "Examples:\n"
      "  weft qos --scenario examples/scenarios/qos-small.toml --iterations 20 --placements 1\n"
      "  weft qos --scenario examples/scenarios/qos-small.toml --iterations 20 --placements 1 "
      "--controller algorithm-1 --out out/qos\n"
      "  weft qos --scenario examples/scenarios/qos-small.toml --iterations 20 --placements 1 "
      "--controller algorithm-1 --set qos.threshold=0.4 --json\n"
      "  weft qos --live --scenario examples/scenarios/qos-live.toml");
  qos->callback(
      [state, &outcome] { run_stoppable(outcome, [&] { run_qos_command(*state, outcome); }); });
}

}  // namespace weft::cli
