// SPDX-License-Identifier: Apache-2.0
// weft stream local, compare, limit; weft stream node is in node_command.cpp.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <span>
#include <thread>

#include "base/log.hpp"
#include "base/make_error.hpp"
#include "base/units.hpp"
#include "cli/commands.hpp"
#include "cli/network_output.hpp"
#include "cli/output_directory.hpp"
#include "cli/parsed_option.hpp"
#include "cli/scenario_job.hpp"
#include "cli/stream_output.hpp"
#include "cli/stream_run.hpp"
#include "cli/stream_settings.hpp"
#include "cli/twin.hpp"
#include "report/report.hpp"
#include "runtime/stop_signals.hpp"
#include "sim/scenario/scenario_file.hpp"
#include "stream/local/local.hpp"
#include "stream/node/admission.hpp"
#include "stream/node/schedules.hpp"

namespace weft::cli {
namespace {

struct StreamCommand {
  StreamSettings settings;
  std::vector<std::string> schedules{"best-effort", "offset", "dfs", "grant"};
  std::string sizes = "1KiB..1MiB";
  bool mix = false;
  TraceSettings trace;
  std::string limit_sizes;  ///< of compare; empty: none
};

/// Only simulations have a trace.
Result<void> check_trace(const StreamCommand& command) {
  if (command.trace.path.empty() || scenario_path(command.settings.stream)) return {};
  return invalid("--trace: {}: only simulations have a trace; use --fabric sim:SCENARIO",
                 command.trace.path);
}

/// Before work begins. A job that is too large is refused later, and needs no notice.
void tell_of_crowd(const StreamOptions& options) {
  using namespace stream;
  if (scenario_path(options) || !check_options(options) ||
      !check_needs(options, NodesRun::in_processes, limits_of_this_machine())) {
    return;
  }
  const std::string notice = crowd_notice(options, std::thread::hardware_concurrency());
  if (!notice.empty()) spdlog::warn("{}", notice);
}

Result<void> begin(CLI::App& app, StreamCommand& command, const Outcome& outcome) {
  set_up_log(command.settings.local.log_level, "");
  command.settings.local.executable_command = outcome.command_line;
  command.trace.replaces = command.settings.stream.replaces_files;
  if (auto good = resolve(app, command.settings); !good) return good;
  if (auto good = check_trace(command); !good) return good;
  auto prepared = prepare_directory(command.settings.out, command.settings.stream.replaces_files);
  if (prepared) tell_of_crowd(command.settings.stream);
  return prepared;
}

/// Every run of a comparison writes the files of its sinks.
Result<void> check_comparison(const StreamCommand& command) {
  const StreamOptions& o = command.settings.stream;
  auto good = check_schedule_options(command.settings, command.schedules);
  if (!good) return good;
  if (command.schedules.size() < 2 || o.replaces_files) return {};
  for (const std::string& sink : o.sinks) {
    if (!sink.starts_with("tsa:") && !sink.starts_with("file:")) continue;
    return invalid(
        "--sink {}: each of {} schedules would write over the files of the one before; compare "
        "with check: or null:, or keep the last one's with --force",
        sink, command.schedules.size());
  }
  return {};
}

/// The command, as the network's page describes it.
report::NetworkRecord about_network(const StreamSettings& settings) {
  return {.command = settings.local.executable_command,
          .seed = settings.stream.seed,
          .parameters = parameters_of(settings)};
}

/// One run, with the progress line on a terminal. `name` tells it from other ones, also in the log,
/// `place` says which of them it is.
Result<report::RunRecord> run_one(const StreamSettings& settings, NetworkOutput& output,
                                  const std::string& name = {}, const std::string& place = {}) {
  LocalOptions local = settings.local;
  ProgressLine line(settings.stream.schedule + place, settings.stream);
  if (line.wanted() && !settings.json) {
    local.on_progress = [&line](const StreamProgress& p) { line.show(p); };
  }
  const auto network = output.begin(name);
  if (!network) return network.error();
  set_up_log(local.log_level, name);
  auto record = stream::run_local(settings.stream, local, *network);
  set_up_log(local.log_level, "");
  if (!record) return record;
  if (auto good = output.end(); !good) return std::move(good).error();
  return record;
}

/// Writes the records and the report into --out, and returns the report's path. Commands print
/// afterwards: a reader of their output that is gone costs no record. `other`: the record that a
/// command of the other kind may have left there.
Result<std::string> keep_records(const StreamSettings& settings, NetworkOutput& network,
                                 const char* other, const std::function<Result<void>()>& write) {
  if (settings.out.empty()) return std::string();
  forget_record(settings.out, other, settings.stream.replaces_files);
  if (auto written = write(); !written) {
    return Error{ErrorCode::io, "--out: " + written.error().message};
  }
  if (auto written = network.write(about_network(settings)); !written) {
    return std::move(written).error();
  }
  return report::write_report(settings.out);
}

/// Says where the report is, if there is one. Errors: why it could not be written.
Result<void> announce(const Result<std::string>& report, bool quiet) {
  if (!report) return report.error();
  if (!quiet && !report->empty()) fmt::print("report: {}\n", *report);
  return {};
}

/// The files of the job, of its simulated network, and of published figures.
CommandFiles files_of_job(const StreamSettings& settings) {
  stream::JobFiles files = stream::files_of(settings.stream);
  if (!settings.reference.empty()) files.read.push_back(settings.reference);
  if (const auto path = scenario_path(settings.stream)) {
    const auto scenario = sim::read_scenario(*path, settings.local.scenario_settings);
    if (scenario) std::ranges::copy(files_of(*scenario), std::back_inserter(files.read));
  }
  return {.read = std::move(files.read), .written = std::move(files.written)};
}

Result<void> run_local_command(CLI::App& app, StreamCommand& command, Outcome& outcome) {
  if (auto good = begin(app, command, outcome); !good) return good.error();
  const std::string& schedule = command.settings.stream.schedule;
  if (auto good = check_schedule_options(command.settings, {&schedule, 1}); !good)
    return good.error();
  NetworkOutput network(command.settings.out, command.trace, command.settings.json);
  if (auto good = network.check({}, files_of_job(command.settings)); !good) return good.error();
  auto record = run_one(command.settings, network);
  if (!record) return record.error();
  std::vector<report::RunRecord> runs{std::move(record).value()};
  if (auto measured = measure_limit(command.settings, runs); !measured) return measured.error();
  describe(command.settings, runs[0]);
  if (!is_sound(runs[0])) outcome.code = ExitCode::failed;
  const auto report = keep_records(command.settings, network, "compare.json", [&] {
    return report::write_run(command.settings.out, runs[0]);
  });
  if (command.settings.json) {
    fmt::print("{}\n", report::to_json(runs[0], report::RecordForm::summary));
  } else {
    print_table(runs);
  }
  return announce(report, command.settings.json);
}

/// "1KiB..1MiB" doubling, or "64KiB" alone.
Result<std::vector<std::size_t>> parse_sizes(const char* option, const std::string& text) {
  const auto dots = text.find("..");
  const auto first = parse_byte_count(text.substr(0, dots));
  const auto last = dots == std::string::npos ? first : parse_byte_count(text.substr(dots + 2));
  const auto refuse = [&](const char* why) {
    return invalid("{}: '{}' {}; write one size, or a range such as 1KiB..1MiB", option, text, why);
  };
  if (!first || !last) return refuse("is no range of sizes");
  if (last->value() < first->value()) return refuse("ends below its beginning");
  if (first->value() == 0 || last->value() > ByteCount::gib(1).value()) {
    return refuse("is not between 1 B and 1 GiB");
  }
  std::vector<std::size_t> sizes;
  for (std::uint64_t size = first->value(); size <= last->value(); size *= 2) {
    sizes.push_back(size);
  }
  return sizes;
}

/// The limit by message size, printed as it is found.
Result<report::RunRecord> measure_limits(const StreamSettings& settings,
                                         const std::vector<std::size_t>& sizes, bool mix) {
  report::RunRecord record;
  const StreamOptions& o = settings.stream;
  record.schedule = "limit";
  record.fabric = o.fabric;
  record.inputs = o.inputs;
  record.computes = o.computes;
  record.seed = o.seed;
  for (const std::size_t size : sizes) {
    for (const bool with_small : {false, true}) {
      if (with_small && !mix) continue;
      auto row = stream::run_limit(o, settings.local, size, with_small);
      if (!row) return std::move(row).error();
      if (!settings.json) print_limit_row(*row, record.limit.empty());
      record.limit.push_back(*row);
    }
  }
  describe(settings, record);
  return record;
}

/// Figs. 3 to 5 of a comparison, as one more run.
Result<void> add_limits(const StreamSettings& settings, const std::vector<std::size_t>& sizes,
                        std::vector<report::RunRecord>& runs) {
  if (sizes.empty() || StopSignals::count() > 0) return {};
  auto limits = measure_limits(settings, sizes, true);
  if (!limits) return std::move(limits).error();
  runs.push_back(std::move(limits).value());
  return {};
}

/// The runs of a comparison. A run has a twin, unless a signal came before or during that.
struct ComparedRuns {
  std::vector<report::RunRecord> runs;
  std::vector<report::RunRecord> twins;
};

/// Runs the schedules until a signal comes. Runs that were whole by then stay so: neither half a
/// twin nor a job that a signal ends before it begins takes them away.
Result<void> run_schedules(const StreamCommand& command, NetworkOutput& network,
                           ComparedRuns& compared) {
  const std::size_t all = command.schedules.size();
  std::vector<report::RunRecord>& runs = compared.runs;
  for (const std::string& schedule : command.schedules) {
    if (StopSignals::count() > 0) break;
    StreamSettings of_run = command.settings;
    of_run.stream.schedule = schedule;
    auto record =
        run_one(of_run, network, schedule, fmt::format(" ({} of {})", runs.size() + 1, all));
    if (!record && record.error().code == ErrorCode::cancelled && !runs.empty()) break;
    if (!record) return record.error();
    runs.push_back(std::move(record).value());
    if (!command.settings.twin || StopSignals::count() > 0) continue;
    auto twin = run_twin(of_run);
    if (StopSignals::count() > 0) {
      print_error(fmt::format("a signal ended the twin of {}, which is left out", schedule));
      break;
    }
    if (!twin) return twin.error();
    compared.twins.push_back(std::move(twin).value());
  }
  if (runs.size() < all) {
    print_error(fmt::format("a signal came before these schedules: {}",
                            fmt::join(std::span(command.schedules).subspan(runs.size()), ", ")));
  }
  return {};
}

Result<void> run_compare_command(CLI::App& app, StreamCommand& command, Outcome& outcome) {
  if (auto good = begin(app, command, outcome); !good) return good.error();
  if (auto good = check_comparison(command); !good) return good.error();
  NetworkOutput network(command.settings.out, command.trace, command.settings.json);
  if (auto good = network.check(command.schedules, files_of_job(command.settings)); !good) {
    return good.error();
  }
  std::vector<std::size_t> limit_sizes;
  if (!command.limit_sizes.empty()) {
    auto sizes = parse_sizes("--limit-sizes", command.limit_sizes);
    if (!sizes) return sizes.error();
    limit_sizes = *std::move(sizes);
  }
  if (auto good = command.settings.twin ? check_twin(command.settings) : Result<void>(); !good)
    return good.error();
  ComparedRuns compared;
  if (auto good = run_schedules(command, network, compared); !good) return good.error();
  std::vector<report::RunRecord> runs = std::move(compared.runs);
  const std::vector<report::RunRecord> twins = std::move(compared.twins);
  const std::size_t real = runs.size();
  runs.insert(runs.end(), twins.begin(), twins.end());
  if (auto measured = measure_limit(command.settings, runs); !measured) return measured.error();
  for (auto& run : runs) {
    describe(command.settings, run);
    if (!is_sound(run)) outcome.code = ExitCode::failed;
  }
  const auto keep = [&] {
    return keep_records(command.settings, network, "run.json",
                        [&] { return report::write_comparison(command.settings.out, runs); });
  };
  auto report = keep();
  if (!command.settings.json) {
    const std::span all(runs);
    print_table(all.first(real));
    if (!twins.empty()) print_twins(all.first(twins.size()), all.subspan(real));
  }
  const std::size_t kept = runs.size();
  if (auto added = add_limits(command.settings, limit_sizes, runs); !added) return added.error();
  if (runs.size() > kept) report = keep();
  if (command.settings.json) fmt::print("{}\n", runs_as_json(runs));
  return announce(report, command.settings.json);
}

Result<void> run_limit_command(CLI::App& app, StreamCommand& command, Outcome& outcome) {
  if (auto good = begin(app, command, outcome); !good) return good.error();
  const auto sizes = parse_sizes("--sizes", command.sizes);
  if (!sizes) return sizes.error();
  auto measured = measure_limits(command.settings, *sizes, command.mix);
  if (!measured) return measured.error();
  const report::RunRecord record = std::move(measured).value();
  if (command.settings.json) {
    fmt::print("{}\n", report::to_json(record, report::RecordForm::full));
  }
  if (command.settings.out.empty()) return {};
  const bool force = command.settings.stream.replaces_files;
  forget_record(command.settings.out, "compare.json", force);
  for (const char* file : {"network.json", "network.html"}) {
    forget_record(command.settings.out, file, force);  // of another command
  }
  if (auto written = report::write_run(command.settings.out, record); !written) {
    return Error{ErrorCode::io, "--out: " + written.error().message};
  }
  announce_report(command.settings.out, command.settings.json, outcome);
  return {};
}

void add_local(CLI::App& stream, StreamCommand& state, Outcome& outcome) {
  auto* local =
      stream.add_subcommand("local", "Run a job whose nodes are processes on this machine");
  add_job_options(*local, state.settings);
  add_local_options(*local, state.settings);
  add_trace_options(*local, state.trace);
  local->footer(
      "Examples:\n"
      "  weft stream local --schedule dfs --timeslices-per-interval 32 --link 200Mbit,20us "
      "--sink check: --out out/dfs\n"
      "  weft stream local --testbed 100Mbit --fault 'at=2s kill host5' --sink check: --json\n"
      "  weft stream local --fabric sim:examples/scenarios/star-100mbit.toml --out out/star "
      "--trace "
      "trace.json");
  local->callback([local, &state, &outcome] {
    run_stoppable(outcome,
                  [&] { report_failure(run_local_command(*local, state, outcome), outcome); });
  });
}

void add_compare(CLI::App& stream, StreamCommand& state, Outcome& outcome) {
  auto* compare = stream.add_subcommand("compare", "Run the same job with several schedules");
  add_job_options(*compare, state.settings);
  add_local_options(*compare, state.settings);
  ignore_options(*compare, {"--schedule"});
  add_trace_options(*compare, state.trace);
  add_words(*compare, "--schedules", state.schedules,
            {.known = {stream::schedule_names().begin(), stream::schedule_names().end()}},
            "schedules to run, in this order");
  compare
      ->add_option("--limit-sizes", state.limit_sizes,
                   "also measure the limit for these message sizes, doubling, as 1KiB..1MiB")
      ->type_name("SIZE[..SIZE]");
  compare->add_flag(
      "--twin", state.settings.twin,
      "also run each schedule in a simulation of the testbed, and show the differences");
  compare->footer(
      "Examples:\n"
      "  weft stream compare --link 200Mbit,20us --duration 5s --out out/compare\n"
      "  weft stream compare --testbed 100Mbit,4MiB --twin --out out/twin\n"
      "  weft stream compare --fabric sim:examples/scenarios/aries-128.toml --out out/aries");
  compare->callback([compare, &state, &outcome] {
    run_stoppable(outcome,
                  [&] { report_failure(run_compare_command(*compare, state, outcome), outcome); });
  });
}

void add_limit(CLI::App& stream, StreamCommand& state, Outcome& outcome) {
  auto* limit = stream.add_subcommand(
      "limit", "Measure the bandwidth of plain writes, with which the schedules are compared");
  add_job_options(*limit, state.settings);
  add_local_options(*limit, state.settings);
  ignore_options(
      *limit, {"--schedule",      "--source",     "--sink",           "--microslices-per-timeslice",
               "--overlap",       "--buffer",     "--one-ring",       "--descriptors",
               "--input-buffer",  "--sink-depth", "--skip-when-slow", "--late-after",
               "--give-up-after", "--timeslices", "--duration",       "--sample-every",
               "--fault",         "--restart",    "--no-limit",       "--reference"});
  for (CLI::Option* option : limit->get_options()) {
    if (option->get_group().starts_with("Schedule ")) option->group("");
  }
  limit->add_option("--sizes", state.sizes, "message sizes, doubling")
      ->type_name("SIZE[..SIZE]")
      ->capture_default_str();
  limit->add_flag("--mix", state.mix, "also measure with the small messages of timeslice building");
  limit->footer(
      "Examples:\n"
      "  weft stream limit --inputs 4 --computes 4 --sizes 64KiB --mix\n"
      "  weft stream limit --fabric libfabric:shm --sizes 64KiB..1MiB --out out/limit\n"
      "  weft stream limit --link 200Mbit,20us --sizes 16KiB..256KiB --json");
  limit->callback([limit, &state, &outcome] {
    run_stoppable(outcome,
                  [&] { report_failure(run_limit_command(*limit, state, outcome), outcome); });
  });
}

}  // namespace

void add_stream_command(CLI::App& root, Outcome& outcome) {
  auto* stream = root.add_subcommand("stream", "Build timeslices from many streams");
  stream->require_subcommand(1);
  auto state = std::make_shared<StreamCommand>();
  add_local(*stream, *state, outcome);
  add_compare(*stream, *state, outcome);
  add_limit(*stream, *state, outcome);
  add_node_command(*stream, outcome);
  stream->footer(
      "Examples:\n"
      "  weft stream local --sink check: --duration 5s\n"
      "  weft stream compare --link 200Mbit,20us --duration 5s --out out\n"
      "  weft stream limit --link 200Mbit,20us --sizes 16KiB..256KiB --mix");
  root.parse_complete_callback([state, &root] {
    (void)root;  // keeps the state alive as long as the parser
  });
}

}  // namespace weft::cli
