// SPDX-License-Identifier: Apache-2.0
// The subcommands of `weft`, one file each. A command registers its options when the program
// starts and runs in its callback, inside CLI11's parse.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/exit_code.hpp"
#include "weft/result.hpp"

namespace CLI {
class App;
}

namespace weft::cli {

/// The result of a command, for `main`.
struct Outcome {
  ExitCode code = ExitCode::success;
  std::string command_line;  ///< as typed, quoted for a shell
  bool is_silent = false;    ///< another process reports the outcome
};

/// Prints "weft: MESSAGE" on standard error; without one that takes it, nothing happens: the exit
/// code still tells.
void print_error(std::string_view message) noexcept;

/// Prints "weft: MESSAGE" on standard error, unless silent, and sets the exit code that fits the
/// error.
void report_error(const Error& error, Outcome& outcome);
/// The same for the error of a result, if it has one.
void report_failure(const Result<void>& result, Outcome& outcome);

/// Runs a command's body, in which SIGINT and SIGTERM are counted (runtime/stop_signals.hpp), and
/// which comes to its end in order when one came. Its exit code then says which, unless something
/// was found wrong.
void run_stoppable(Outcome& outcome, const std::function<void()>& body);

void add_archive_command(CLI::App& root, Outcome& outcome);
void add_odp_command(CLI::App& root, Outcome& outcome);
void add_doctor_command(CLI::App& root, Outcome& outcome);
void add_emulate_command(CLI::App& app, Outcome& outcome);
/// --ucx of `weft emulate` and `weft sweep`: Open MPI is to use UCX in place of its default.
void add_ucx_flag(CLI::App& command, bool& use_ucx);
/// `weft odp bench`, below `weft odp`.
void add_odp_bench_command(CLI::App& odp, Outcome& outcome);
/// `weft odp diagnose`, below `weft odp`.
void add_odp_diagnose_command(CLI::App& odp, Outcome& outcome);
void add_qos_command(CLI::App& root, Outcome& outcome);
void add_report_command(CLI::App& root, Outcome& outcome);
/// `weft stream node`, below `weft stream`.
void add_node_command(CLI::App& stream, Outcome& outcome);
void add_run_command(CLI::App& root, Outcome& outcome);
void add_simulate_command(CLI::App& root, Outcome& outcome);
void add_stream_command(CLI::App& root, Outcome& outcome);
/// `weft simulate swarm`, below `weft simulate`.
void add_swarm_command(CLI::App& simulate, Outcome& outcome);
void add_sweep_command(CLI::App& root, Outcome& outcome);
void add_testbed_command(CLI::App& root, Outcome& outcome);
void add_trace_command(CLI::App& root, Outcome& outcome);
/// `weft trace record`, below `weft trace`.
void add_trace_record_command(CLI::App& trace, Outcome& outcome);
/// `weft simulate uniform`, below `weft simulate`.
void add_uniform_command(CLI::App& simulate, Outcome& outcome);

}  // namespace weft::cli
