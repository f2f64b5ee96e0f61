// SPDX-License-Identifier: Apache-2.0
// weft sweep: how a program reacts to latency and bandwidth.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/make_error.hpp"
#include "base/number_text.hpp"
#include "base/units.hpp"
#include "base/whole_file.hpp"
#include "cli/commands.hpp"
#include "cli/output_directory.hpp"
#include "cli/output_files.hpp"
#include "cli/parsed_option.hpp"
#include "cli/sweep_report.hpp"
#include "cli/terminal.hpp"
#include "emulate/sweep/record.hpp"
#include "emulate/sweep/target.hpp"
#include "report/run_record.hpp"
#include "runtime/clock.hpp"
#include "runtime/stop_signals.hpp"

namespace weft::cli {
namespace {

using emulate::SweepQuestion;
using emulate::SweepRequest;

struct SweepCommand {
  std::optional<std::vector<Duration>> latencies;
  std::optional<std::vector<double>> bandwidths;
  std::optional<std::string> pattern;
  std::optional<emulate::MetricUnit> unit;
  std::optional<emulate::SweepShare> share;
  std::vector<std::string> predictions;
  std::vector<std::string> command;
  std::string metric_file;
  std::string links;
  std::string server;
  bool use_ucx = false;
  Duration budget = Duration::seconds(600);
  double precision = 0.02;
  std::uint64_t seed = 1;
  std::string json;
  std::string report;
  std::string directory;
  bool merges = false;
  bool replaces = false;
};

/// The question that the options ask, or the directory's when they name no program.
Result<SweepQuestion> question_of(const SweepCommand& command) {
  SweepQuestion question;
  if (command.command.empty()) {
    if (command.directory.empty() && command.merges) {
      return invalid("--resume: is missing: --merge reads a directory that all tasks share");
    }
    if (command.directory.empty()) {
      return invalid(
          "COMMAND: is missing: name a program after --, as -- mpirun.mpich -n 2 ./program");
    }
    auto stored = emulate::SweepLedger::question_of(command.directory);
    if (!stored) return stored;
    question = std::move(stored).value();
  }
  if (!command.command.empty()) question.command = command.command;
  if (command.latencies) question.latencies = *command.latencies;
  if (command.bandwidths) question.bandwidths = *command.bandwidths;
  if (command.pattern) question.metric.pattern = *command.pattern;
  if (command.unit) question.metric.unit = *command.unit;
  if (!command.metric_file.empty()) question.metric.file = command.metric_file;
  if (!command.links.empty()) question.links = command.links;
  if (!command.server.empty()) question.server = command.server;
  if (command.use_ucx) question.use_ucx = true;
  if (question.metric.is_time() && question.metric.unit.name != "s") {
    return invalid(
        "--unit {}: the program's time is in s; --unit is for a --metric that is a regular "
        "expression",
        question.metric.unit.name);
  }
  if (question.metric.is_time() && !question.metric.file.empty()) {
    return invalid("--metric-file {}: needs a --metric to look for in it", question.metric.file);
  }
  return question;
}

/// The share of a task of a Slurm array; all of the sweep elsewhere.
Result<emulate::SweepShare> share_of_array() {
  const auto id = environment_number("SLURM_ARRAY_TASK_ID");
  const auto count = environment_number("SLURM_ARRAY_TASK_COUNT");
  if (!id || !count || *count < 2) return emulate::SweepShare{};
  return emulate::share_of({.id = *id,
                            .least = environment_number("SLURM_ARRAY_TASK_MIN").value_or(0),
                            .most = environment_number("SLURM_ARRAY_TASK_MAX").value_or(*count - 1),
                            .step = environment_number("SLURM_ARRAY_TASK_STEP").value_or(1),
                            .count = *count});
}

Result<SweepRequest> resolve(const SweepCommand& command) {
  auto question = question_of(command);
  if (!question) return std::move(question).error();
  SweepRequest request{
      .question = std::move(question).value(),
      .plan = {.precision = command.precision, .budget = command.budget, .seed = command.seed},
      .share = {},
      .directory = command.directory,
      .runs_nothing = command.merges,
      .calibration = {},
      .predictions = {}};
  if (!command.merges) {
    const auto share = command.share ? Result(*command.share) : share_of_array();
    if (!share) return invalid("--share: {}", share.error().message);
    request.share = *share;
  }
  if (command.merges && command.share) return invalid("--merge: takes all shares; drop --share");
  if (request.directory.empty() && (command.merges || !request.share.is_all())) {
    return invalid("--resume: is missing: {} a directory that all tasks share",
                   command.merges ? "--merge reads" : "a share of a sweep needs");
  }
  for (const std::string& text : command.predictions) {
    auto point = emulate::parse_prediction(text);
    if (!point) return invalid("--predict: {}", point.error().message);
    request.predictions.push_back(*point);
  }
  if (!command.merges) {
    auto calibration = emulate::calibration_in_use(request.question);
    if (!calibration) return std::move(calibration).error();
    request.calibration = *calibration;
  }
  return request;
}

Result<emulate::SweepOutcome> run(const SweepRequest& request, const StopSignals& signals) {
  const Instant begun = monotonic_now();
  StatusLine line;
  const emulate::SweepTarget target = emulate::emulated_target(request.question);
  const emulate::SweepDriver driver{
      .target = target,
      .elapsed = [&] { return monotonic_now() - begun; },
      .on_run =
          [&](const emulate::SweepProgress& p) {
            const std::chrono::duration<double> taken((monotonic_now() - begun).to_seconds());
            line.show({bar(p.fraction) + " " + share_done(p.fraction, taken),
                       fmt::format("{} of {} points settled", p.settled, p.points),
                       fmt::format("{} runs", p.runs), to_text(p.point)});
            return !signals.came();
          }};
  auto outcome = emulate::run_sweep(request, driver);
  // A signal from a terminal also ended the program: that is no fault of the program.
  if (!outcome && signals.came() && outcome.error().code != ErrorCode::cancelled) {
    return Error{ErrorCode::cancelled,
                 request.directory.empty()
                     ? "stopped; with --resume DIR a sweep can go on later"
                     : fmt::format("stopped; the same command goes on from {}", request.directory)};
  }
  return outcome;
}

std::string page_of(const SweepCommand& command) {
  return (std::filesystem::path(command.report) / "sweep.html").string();
}

Result<void> write_report(const SweepCommand& command, const emulate::SweepOutcome& outcome,
                          const std::string& json, const std::string& command_line) {
  const std::filesystem::path directory(command.report);
  auto written = report::write_file_whole((directory / "sweep.json").string(), json + "\n");
  if (written) {
    written = report::write_file_whole(page_of(command),
                                       report::sweep_page(record_of(outcome, command_line)));
  }
  if (!written) return Error{ErrorCode::io, "--report: " + written.error().message};
  return {};
}

/// Writes the files of a sweep, each one also where another cannot be written. Before anything is
/// printed: standard output may be full or closed.
Result<void> keep(const SweepCommand& command, const emulate::SweepOutcome& outcome,
                  std::optional<WholeFile>& json_file, const std::string& json,
                  const std::string& command_line) {
  Result<void> kept;
  if (json_file) kept = write_record(*json_file, json + "\n", "--json");
  if (command.report.empty() || !outcome.analysis) return kept;
  auto reported = write_report(command, outcome, json, command_line);
  return kept ? reported : kept;
}

/// What the user sees of a sweep whose files are `kept`.
void print_outcome(const SweepCommand& command, const emulate::SweepOutcome& outcome,
                   const Result<void>& kept, const std::string& json) {
  if (command.json == standard_output) return fmt::print("{}\n", json);
  print_sweep(outcome);
  if (kept && outcome.analysis && !command.report.empty()) {
    fmt::print("report: {}\n", page_of(command));
  }
}

void run_sweep_command(const SweepCommand& command, Outcome& outcome) {
  const StopSignals signals;
  const auto request = resolve(command);
  if (!request) return report_error(request.error(), outcome);
  // The question of a sweep that is resumed names its file of links.
  auto good = refuse_other_files(
      "--json", command.json,
      {.read = {request->question.links, command.links}, .directories = {command.report}});
  if (good) good = prepare_directory(command.report, command.replaces, "--report");
  if (!good) return report_error(good.error(), outcome);
  auto json_file = create_record(command.json, "--json");
  if (!json_file) return report_error(json_file.error(), outcome);
  const auto swept = run(*request, signals);
  if (!swept) return report_error(swept.error(), outcome);
  const std::string json = to_json_text(*swept, outcome.command_line);
  const auto kept = keep(command, *swept, *json_file, json, outcome.command_line);
  for (const std::string& warning : swept->warnings) print_error("warning: " + warning);
  if (!swept->analysis) {
    print_error(fmt::format(
        "task {} of {} is done; when all are, weft sweep --resume {} --merge tells what they found",
        request->share.task, request->share.of, request->directory));
  }
  if (!kept) report_error(kept.error(), outcome);
  print_outcome(command, *swept, kept, json);
}

Result<double> parse_precision(const std::string& text) {
  auto shares = emulate::parse_bandwidths(text);
  if (shares && shares->size() == 1) return shares->front();
  return invalid("'{}' is no precision: give percent, as 2%", text);
}

Result<Duration> parse_budget(const std::string& text) {
  auto budget = parse_duration(text);
  if (!budget || *budget > Duration{}) return budget;
  return invalid("'{}' is no time to measure in: give more than 0, as 10min", text);
}

void add_networks(CLI::App& sweep, SweepCommand& s) {
  add_parsed(sweep, "--latency", s.latencies, emulate::parse_latencies,
             "latencies to add to each message, one way: 0,1us,2us", "0")
      ->type_name("LIST");
  add_parsed(sweep, "--bandwidth", s.bandwidths, emulate::parse_bandwidths,
             "shares of the calibrated bandwidth: 100%,50%,10%", "100%")
      ->type_name("LIST");
  sweep.add_option("--links", s.links, "file of links between ranks, as for weft emulate")
      ->type_name("FILE");
  sweep
      .add_option(
          "--server", s.server,
          "shell command of a server that COMMAND talks to over sockets, as for weft emulate")
      ->type_name("COMMAND");
  add_ucx_flag(sweep, s.use_ucx);
  add_parsed(sweep, "--metric", s.pattern, emulate::parse_metric,
             "time, or a regular expression (RE2) whose group is a number that the program prints",
             "time")
      ->type_name("REGEX");
  add_parsed(sweep, "--unit", s.unit, emulate::parse_metric_unit,
             "unit of that number: s, ms, us, ns, or a rate /s, k/s, M/s, G/s", "s")
      ->type_name("UNIT");
  sweep
      .add_option("--metric-file", s.metric_file,
                  "search for the number in this file, which the program writes, not in its output")
      ->type_name("FILE");
  sweep
      .add_option("--predict", s.predictions,
                  "print the model's prediction for this network, as -0.5us,200% (several allowed)")
      ->allow_extra_args(false)
      ->type_name("LATENCY,BANDWIDTH");
}

void add_effort(CLI::App& sweep, SweepCommand& s) {
  add_parsed(sweep, "--budget", s.budget, parse_budget,
             "time limit: no run starts that would end later, except the first run of a point",
             "10min");
  add_parsed(sweep, "--precision", s.precision, parse_precision,
             "repeat a point until its median is known to ± this share", "2%")
      ->type_name("PERCENT");
  sweep.add_option("--seed", s.seed, "seed of the order of runs")
      ->type_name("UINT")
      ->capture_default_str();
  add_parsed(
      sweep, "--share", s.share, emulate::parse_share,
      "measure this task's share of the points, as 0/4; by default that of the Slurm array's task")
      ->type_name("K/N");
  sweep.add_flag("--merge", s.merges, "run nothing; print the result of all tasks of --resume");
}

}  // namespace

void add_sweep_command(CLI::App& root, Outcome& outcome) {
  auto* sweep = root.add_subcommand(
      "sweep",
      "Run an unmodified MPI program on many emulated networks, and find the network it needs");
  auto state = std::make_shared<SweepCommand>();
  SweepCommand& s = *state;
  add_networks(*sweep, s);
  add_effort(*sweep, s);
  sweep
      ->add_option("COMMAND", s.command,
                   "mpirun, its options, and the program; with --server, the client")
      ->type_name("WORDS");
  sweep->add_option("--json", s.json, "write one JSON object; - is standard output")
      ->type_name("FILE")
      ->group("Output");
  sweep->add_option("--report", s.report, "write sweep.html and sweep.json")
      ->type_name("DIR")
      ->group("Output");
  sweep
      ->add_option("--resume", s.directory,
                   "keep each run in this directory, and continue from the runs kept there")
      ->type_name("DIR")
      ->group("Output");
  add_force_option(*sweep, s.replaces);
  sweep->positionals_at_end();
  sweep->footer(
      "Examples:\n"
      "  weft sweep --latency 0,1us,2us,5us,10us -- mpirun.mpich -n 2 ./my-program\n"
      "  weft sweep --latency 0,2us,10us --bandwidth 100%,50%,20%,5% --report out/sweep "
      "--resume out/runs -- mpirun.mpich -n 2 ./my-program\n"
      "  weft sweep --resume out/runs --merge --predict -0.2us,200%");
  sweep->callback(
      [state, &outcome] { run_stoppable(outcome, [&] { run_sweep_command(*state, outcome); }); });
}

}  // namespace weft::cli
