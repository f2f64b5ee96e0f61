// SPDX-License-Identifier: Apache-2.0
// weft emulate: an unmodified program behind slower links. weft calibrate: the links as they are.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "base/units.hpp"
#include "base/whole_file.hpp"
#include "cli/commands.hpp"
#include "cli/output_directory.hpp"
#include "cli/output_files.hpp"
#include "cli/parsed_option.hpp"
#include "cli/terminal.hpp"
#include "emulate/calibration.hpp"
#include "emulate/run.hpp"

namespace weft::cli {
namespace {

struct EmulateCommand {
  emulate::EmulationRequest request;
  std::string latency = "0";
  std::string bandwidth = "100%";
  std::vector<std::string> methods = {"hold"};
  std::string json;
};

template <class T>
nlohmann::ordered_json to_json(const emulate::NativeAndAsked<T>& value) {
  nlohmann::ordered_json json;
  json["native"] = value.native ? nlohmann::ordered_json(*value.native) : nullptr;
  json["asked"] = value.asked ? nlohmann::ordered_json(*value.asked) : nullptr;
  return json;
}

nlohmann::ordered_json to_json(const emulate::EmulatedRun& run, const EmulateCommand& command) {
  return {{"latency", command.latency},
          {"bandwidth", command.bandwidth},
          {"method", command.methods},
          {"interposer", run.interposer},
          {"ranks", run.ranks},
          {"ranks_interposed", run.ranks_interposed},
          {"operations", run.operations},
          {"bytes", run.bytes},
          {"padding_bytes", run.padding_bytes},
          {"latency_ns", to_json(run.latency_ns)},
          {"bandwidth_bytes_per_s", to_json(run.bandwidth_bytes_per_s)},
          {"wall_time_s", run.wall_time.to_seconds()},
          {"program_time_s", run.program_time.to_seconds()},
          {"coarse_ns", run.coarse.to_nanoseconds()},
          {"exit_code", run.exit_code}};
}

std::string summary(const emulate::EmulatedRun& run, const emulate::EmulationRequest& request) {
  const std::string bytes = to_text(ByteCount(run.bytes));
  const std::string time = to_text(run.program_time);
  if (run.coarse > Duration{}) {
    return fmt::format(
        "client and server on hosts of their own (coarse: latency ± {}), {} packets, {}, {}",
        to_text(run.coarse), run.operations, bytes, time);
  }
  const std::string padding = request.padding ? fmt::format(" and {} of padding (for comparison)",
                                                            to_text(ByteCount(run.padding_bytes)))
                                              : "";
  return fmt::format("{} of {} ranks interposed by {} ({}), {} operations, {}{}, {}",
                     run.ranks_interposed, run.ranks, run.interposer,
                     request.method == emulate::Method::spin ? "spin, for comparison" : "hold",
                     run.operations, bytes, padding, time);
}

void run_emulate(EmulateCommand& command, Outcome& outcome) {
  const auto latency = emulate::parse_latency("--latency", command.latency);
  if (!latency) return report_error(latency.error(), outcome);
  const auto bandwidth = emulate::parse_emulated_bandwidth("--bandwidth", command.bandwidth);
  if (!bandwidth) return report_error(bandwidth.error(), outcome);
  command.request.latency = *latency;
  command.request.bandwidth = *bandwidth;
  const std::set<std::string> methods(command.methods.begin(), command.methods.end());
  if (methods.contains("hold") && methods.contains("spin")) {
    return report_error({ErrorCode::invalid_argument,
                         "--method hold,spin: both are about latency; leave one of them out"},
                        outcome);
  }
  command.request.method = methods.contains("spin") ? emulate::Method::spin : emulate::Method::hold;
  command.request.padding = methods.contains("padding");
  if (auto good = refuse_other_files("--json", command.json, {.read = {command.request.links}});
      !good) {
    return report_error(good.error(), outcome);
  }
  auto json = create_record(command.json, "--json");
  if (!json) return report_error(json.error(), outcome);
  const auto run = emulate::run(command.request);
  if (!run) return report_error(run.error(), outcome);
  for (const std::string& warning : run->warnings) print_error(warning);
  print_error(summary(*run, command.request));
  if (command.json == standard_output) fmt::print("{}\n", to_json(*run, command).dump(2));
  if (!*json) return;
  if (auto written = write_record(**json, to_json(*run, command).dump(2) + "\n", "--json");
      !written) {
    report_error(written.error(), outcome);
  }
}

Result<void> run_calibrate(const std::string& out) {
  const auto path = out.empty() ? emulate::calibration_path() : Result<std::string>(out);
  if (!path) return path.error();
  auto file = emulate::CalibrationFile::create(*path);
  if (!file) return file.error();
  fmt::print(stderr, "measuring, for about half a minute on an idle machine\n");
  const auto calibrated = [] {
    StatusLine line;
    const auto begun = std::chrono::steady_clock::now();
    return emulate::calibrate([&](const std::string& layer, int done, int all) {
      line.show(
          {fmt::format("{} of {} measurements", done, all),
           share_done(static_cast<double>(done) / all, std::chrono::steady_clock::now() - begun),
           layer});
    });
  }();
  if (!calibrated) return calibrated.error();
  for (const std::string& note : calibrated->notes) print_error(note);
  if (auto stored = file->store(calibrated->layers); !stored) return stored.error();
  for (const auto& [layer, values] : calibrated->layers) {
    fmt::print("{}: {:.0f} ns one way, {} (holding adds {:.0f} ns, which is taken off)\n", layer,
               values.latency_ns,
               to_text(Bandwidth::bytes_per_second(
                   static_cast<std::uint64_t>(values.bandwidth_bytes_per_s))),
               values.overhead_ns);
  }
  fmt::print("stored in {}\n", *path);
  return {};
}

}  // namespace

void add_ucx_flag(CLI::App& command, bool& use_ucx) {
  command.add_flag("--ucx", use_ucx,
                   "make Open MPI use UCX, which can be interposed; its default cannot");
}

void add_emulate_command(CLI::App& app, Outcome& outcome) {
  auto* emulate =
      app.add_subcommand("emulate", "Run an unmodified program as if its network were slower");
  auto state = std::make_shared<EmulateCommand>();
  EmulateCommand& s = *state;
  emulate
      ->add_option("COMMAND", s.request.command,
                   "mpirun or weft run, its options, and the program; with --server, the client")
      ->required()
      ->type_name("WORDS");
  emulate->add_option("--latency", s.latency, "one-way latency: +2us is added, =5us is the total")
      ->type_name("TIME")
      ->capture_default_str();
  emulate
      ->add_option("--bandwidth", s.bandwidth,
                   "bandwidth of each rank's link: 50% of the calibrated one, or 100MB/s")
      ->type_name("PART|RATE")
      ->capture_default_str();
  emulate
      ->add_option("--links", s.request.links,
                   "TOML file with a link or a path of links for each pair of ranks")
      ->type_name("FILE");
  emulate
      ->add_option(
          "--server", s.request.server,
          "shell command of a server that COMMAND talks to over sockets, each on a host of "
          "its own; {server} is its address, or {socket} the Unix socket where it "
          "listens (coarse: ± 20 us)")
      ->type_name("COMMAND");
  add_words(
      *emulate, "--method", s.methods, {.known = {"hold", "spin", "padding"}},
      "latency: hold (the receiver keeps a message until it is due) or spin (the sender spins "
      "first); bandwidth: a token bucket or padding (filler bytes go ahead of the program's). "
      "spin,padding is the emulator of Wang et al. 2016, for comparison")
      ->allow_extra_args(false);
  add_ucx_flag(*emulate, s.request.use_ucx);
  emulate->add_option("--json", s.json, "write the run's record to this file; - is standard output")
      ->type_name("FILE");
  emulate->positionals_at_end();
  emulate->footer(
      "Examples:\n  weft emulate --latency +2us --bandwidth 50% -- mpirun.mpich -n 2 ./my-program\n"
      "  weft emulate --latency +50us --bandwidth 100Mbit --server 'memcached -u nobody -l "
      "{server}' -- "
      "./my-client {server}");
  // An interrupt ends mpirun, too; weft then clears up after it.
  emulate->callback(
      [state, &outcome] { run_stoppable(outcome, [&] { run_emulate(*state, outcome); }); });

  auto* calibrate = app.add_subcommand(
      "calibrate", "Measure this machine's native latency and bandwidth, for weft emulate");
  auto path = std::make_shared<std::string>();
  calibrate->add_option("--out", *path, "write the figures to this file instead of the default one")
      ->type_name("FILE");
  calibrate->footer(
      "The calibration takes about half a minute. Run it on an idle machine.\nExample:\n  weft "
      "calibrate");
  calibrate->callback([path, &outcome] {
    run_stoppable(outcome, [&] { report_failure(run_calibrate(*path), outcome); });
  });
}

}  // namespace weft::cli
