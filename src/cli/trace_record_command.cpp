// SPDX-License-Identifier: Apache-2.0
// weft trace record: runs a program and leaves its trace.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "runtime/stop_signals.hpp"
#include "trace/record/record_program.hpp"

namespace weft::cli {
namespace {

struct RecordCommand {
  trace::RecordOptions options{.directory = "trace"};
  bool json = false;
};

void run_record(RecordCommand& command, Outcome& outcome) {
  command.options.on_signal = StopSignals::take;
  auto merged = trace::record_program(command.options);
  if (!merged) return report_error(merged.error(), outcome);
  const std::string archive = command.options.directory + "/traces.otf2";
  if (command.json) {
    const nlohmann::ordered_json json{
        {"trace", archive}, {"ranks", merged->ranks}, {"records", merged->records}};
    fmt::print("{}\n", json.dump());
  } else {
    fmt::print("{}: {} ranks, {} records\n", archive, merged->ranks, merged->records);
  }
}

}  // namespace

void add_trace_record_command(CLI::App& trace, Outcome& outcome) {
  auto* record = trace.add_subcommand(
      "record",
      "Run an unmodified MPI program, in C or Fortran, or one of weft's, and record it as OTF2");
  auto state = std::make_shared<RecordCommand>();
  RecordCommand& s = *state;
  record
      ->add_option("COMMAND", s.options.command, "mpirun or weft run, its options, and the program")
      ->required()
      ->type_name("WORDS");
  record
      ->add_option("--out", s.options.directory,
                   "directory of the archive, which must not exist yet")
      ->type_name("DIR")
      ->capture_default_str();
  record
      ->add_option("--mpi", s.options.mpi,
                   "MPI of this mpirun: openmpi or mpich; by default the name of its file tells")
      ->check(CLI::IsMember({"openmpi", "mpich"}))
      ->type_name("NAME");
  record->add_flag("--json", s.json,
                   "print one JSON object, the last line behind the program's output");
  record->positionals_at_end();
  record->footer(
      "Examples:\n"
      "  weft trace record --out hello -- mpirun -n 8 ./my-program\n"
      "  weft trace record --out jacobi -- weft run -n 8 -- build/release/examples/jac3d 40 50");
  record->callback(
      [state, &outcome] { run_stoppable(outcome, [&] { run_record(*state, outcome); }); });
}

}  // namespace weft::cli
