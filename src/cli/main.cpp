// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "base/standard_streams.hpp"
#include "base/system_error.hpp"
#include "cli/commands.hpp"
#include "cli/describe.hpp"
#include "cli/parsed_option.hpp"
#include "cli/suggest.hpp"
#include "cli/suggestions.hpp"
#include "runtime/stop_signals.hpp"

namespace weft::cli {

namespace {

ExitCode code_of_signal() {
  const int number = StopSignals::number();
  if (number == SIGHUP) return ExitCode::hung_up;
  return number == SIGTERM ? ExitCode::terminated : ExitCode::interrupted;
}

}  // namespace

void run_stoppable(Outcome& outcome, const std::function<void()>& body) {
  const StopSignals signals;
  body();
  if (outcome.code == ExitCode::success && signals.came()) outcome.code = code_of_signal();
}

void print_error(std::string_view message) noexcept {
  // Names in it are as a user or a file has them. An error stays one line, and moves no cursor.
  std::string text(message);
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
  // Not fmt::print, which throws when standard error is closed or full.
  std::fprintf(stderr, "weft: %s\n", text.c_str());
}

void report_error(const Error& error, Outcome& outcome) {
  if (!outcome.is_silent) print_error(error.message);
  outcome.code = error.code == ErrorCode::cancelled ? code_of_signal() : exit_code_of(error.code);
}

void report_failure(const Result<void>& result, Outcome& outcome) {
  if (!result) report_error(result.error(), outcome);
}

namespace {

/// The command so that a shell takes it apart again as it was.
std::string shell_line(int argc, char** argv) {
  std::string line = "weft";
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool plain = !word.empty() && word.find_first_not_of(
                                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                            "0123456789-_=.,:/%+@") == std::string::npos;
    line += ' ';
    if (plain) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

/// Flushes standard output; returns `code`, or another exit code if its reader cannot get it all.
int flushed(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  print_error(system_error("write", "standard output", errno).message);
  return static_cast<int>(ExitCode::system);
}

/// The error in a command line that the parser refuses.
std::string explain(const CLI::App& app, const CLI::ParseError& error) {
  const bool of_words = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ||
                        dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  const std::vector<std::string> rest = unread_words(app);
  // The value of an option that there is not may be one word too many for a positional. Words after
  // "--" are the program's.
  const bool has_unknown_option =
      std::any_of(rest.begin(), std::ranges::find(rest, "--"),
                  [](const std::string& word) { return word.starts_with("-"); });
  if (!of_words && !has_unknown_option) {
    const std::string explained = explain_value(error.what());
    const bool launches = deepest_command(app).get_option_no_throw("COMMAND") != nullptr;
    if (!launches || !explained.ends_with("give it once")) return explained;
    return explained + ", or write -- before the program if one of them is the program's";
  }
  if (!rest.empty()) return explain_unknown(app);
  const CLI::App& command = deepest_command(app);
  const bool lacks_command =
      command.get_subcommands().empty() && command.get_require_subcommand_min() > 0;
  if (!lacks_command) return fmt::format("{}; see {} --help", error.what(), full_name(command));
  return fmt::format("name a command: {} {}; see {} --help", full_name(command),
                     fmt::join(commands_of(command), "|"), full_name(command));
}

/// An option such as -hostfile, of which the parser took the -h as the request for help and left
/// the rest; empty: there is none.
std::string misread_as_help(const CLI::App& app, int argc, char** argv) {
  for (const std::string& rest : app.remaining(true)) {
    if (rest.size() < 2 || rest[0] != '-' || rest[1] == '-') continue;
    const std::string word = "-h" + rest.substr(1);
    if (std::find(argv, argv + argc, word) != argv + argc) return word;
  }
  return {};
}

void add_help_command(CLI::App& app, Outcome& outcome) {
  CLI::App* const help = app.add_subcommand("help", "Show the help of a command");
  const auto words = std::make_shared<std::vector<std::string>>();
  help->add_option("COMMAND", *words,
                   "command, as: stream local; by default all commands are listed");
  help->footer("Examples:\n  weft help\n  weft help stream compare\n  weft help archive cut");
  help->callback([&app, words, &outcome] {
    std::string error;
    const CLI::App* const command = find_command(app, *words, error);
    if (command == nullptr) return report_error({ErrorCode::invalid_argument, error}, outcome);
    // Not App::help, which shows the help of the command that was chosen: this one.
    fmt::print("{}", app.get_formatter()->make_help(command, full_name(*command),
                                                    CLI::AppFormatMode::Normal));
  });
}

int run(int argc, char** argv) {
  CLI::App app(
      "weft carries messages and data streams between the processes of a cluster.\n"
      "The same code runs on the real network, on links made slower on purpose, and in a\n"
      "simulation of thousands of nodes. Programs of MPICH or Open MPI run on it unchanged.",
      "weft");
  app.set_help_flag("-h,--help", "print this help and exit");  // commands inherit it
  app.set_version_flag("--version", std::string("weft ") + WEFT_VERSION,
                       "print the version and exit");
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 success, 1 weft found something wrong, such as a damaged file, 2 wrong option "
      "or\n"
      "input, such as a file of another kind, 3 the system refused a request, 129 hung up "
      "(SIGHUP),\n"
      "130 interrupted (SIGINT), 143 terminated (SIGTERM).\n\n"
      "Examples:\n"
      "  weft stream compare --link 200Mbit,20us --duration 5s --out out\n"
      "  weft stream local --sink check: --duration 5s\n"
      "  weft simulate examples/scenarios/faults.toml --check-determinism\n"
      "  weft qos --scenario examples/scenarios/qos-small.toml --iterations 20 --placements 1\n"
      "  weft run -n 4 --restart on-failure -- build/release/examples/jac3d 100\n"
      "  weft run -n 4 -- ./my_program    # compiled by mpicc.mpich or mpicc.openmpi\n"
      "  weft archive info run.tsa");
  Outcome outcome;
  outcome.command_line = shell_line(argc, argv);
  add_stream_command(app, outcome);
  add_simulate_command(app, outcome);
  add_qos_command(app, outcome);
  add_run_command(app, outcome);
  add_archive_command(app, outcome);
  add_odp_command(app, outcome);
  add_doctor_command(app, outcome);
  add_emulate_command(app, outcome);
  add_report_command(app, outcome);
  add_sweep_command(app, outcome);
  add_testbed_command(app, outcome);
  add_trace_command(app, outcome);
  add_help_command(app, outcome);
  add_generate_command(app, WEFT_VERSION, suggestions());
  check_values(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    if (const std::string word = misread_as_help(app, argc, argv); !word.empty()) {
      print_error(explain_option(deepest_command(app), word));
      return static_cast<int>(ExitCode::usage);
    }
    if (const auto unknown = app.remaining(true); !unknown.empty()) {
      print_error(explain(app, CLI::ExtrasError(unknown)));
      return static_cast<int>(ExitCode::usage);
    }
    return flushed(app.exit(e));
  } catch (const CLI::FileError& e) {  // thrown by weft alone, with the code of the file's error
    print_error(e.what());
    return e.get_exit_code();
  } catch (const CLI::ParseError& e) {
    print_error(explain(app, e));
    return static_cast<int>(ExitCode::usage);
  }
  return flushed(static_cast<int>(outcome.code));
}

}  // namespace
}  // namespace weft::cli

int main(int argc, char** argv) {
  weft::occupy_closed_streams();
  // Beyond a limit of file sizes a write fails. Programs that weft starts have the default action.
  std::signal(SIGXFSZ, [](int) {});
  std::set_terminate(weft::end_by_exception);
  try {
    return weft::cli::run(argc, argv);
  } catch (const std::exception& e) {
    weft::cli::print_error(weft::text_of(e));
    return static_cast<int>(weft::ExitCode::system);
  }
}
