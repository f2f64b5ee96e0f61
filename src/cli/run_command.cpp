// SPDX-License-Identifier: Apache-2.0
// weft run: the processes of a program that exchanges messages.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/make_error.hpp"
#include "base/mpi_launcher.hpp"
#include "base/number_text.hpp"
#include "base/units.hpp"
#include "cli/commands.hpp"
#include "cli/parsed_option.hpp"
#include "cli/run_in_simulation.hpp"
#include "cli/run_places.hpp"
#include "cli/suggestions.hpp"
#include "fabric/choice/fabric_choice.hpp"
#include "fabric/mpi/mpi.hpp"
#include "fabric/shaped/shaped.hpp"
#include "launch/agent.hpp"
#include "launch/launch.hpp"
#include "launch/own_mpi.hpp"
#include "launch/simulated.hpp"
#include "runtime/membership/host_names.hpp"

namespace weft::cli {
namespace {

constexpr std::uint32_t most_processes = 4096;

constexpr const char* help =
    "The program is linked to weft and calls weft::run_program, or is an unmodified program of an\n"
    "MPI (MPICH, Open MPI, the standard's ABI): weft's own library then takes the place of that\n"
    "MPI. Standard output and error are those of the processes. The exit code is the first\n"
    "exit code of a process that is not 0; 128 + N after signal N.\n"
    "Examples:\n"
    "  weft run -n 4 -- build/release/examples/jac3d 100 50\n"
    "  weft run -n 4 -- ./my_program    # compiled by mpicc.mpich or mpicc.openmpi\n"
    "  weft run -n 8 --restart on-failure -- build/release/examples/markov2 400 10\n"
    "  weft run -n 4 --fabric tcp --link 1Gbit,20us -- build/release/examples/spmv2 10 1000\n"
    "  weft run --hosts hosts.txt -- build/release/examples/jac3d 100\n"
    "  weft run -n 1000 --fabric sim:examples/scenarios/programs.toml -- "
    "build/release/examples/jac3d 100";

struct RunCommand {
  LaunchOptions launch;
  std::string restart = "never";
  PlaceOptions places;
  SimulationOptions simulation;
};

/// Options that mean something only beside others.
Result<void> check_needed(const CLI::App& app, const LaunchOptions& launch) {
  const char* given = nullptr;
  const char* lacks = nullptr;
  if (app.count("--most-restarts") > 0 && !launch.restart) {
    given = "--most-restarts";
    lacks = "--restart on-failure or all";
  } else if (app.count("--outbox-fails") > 0 && (!launch.restart || launch.restart_all)) {
    given = "--outbox-fails";
    lacks = "--restart on-failure";
  } else if (app.count("--jobs") > 0 && app.count("--seeds") == 0) {
    given = "--jobs";
    lacks = "--seeds A..B";
  } else if (app.count("--spill") > 0 && launch.outbox == LaunchOptions().outbox) {
    given = "--spill";
    lacks = "--outbox SIZE";
  } else if (app.count("--outbox-fails") > 0 && launch.outbox == LaunchOptions().outbox) {
    given = "--outbox-fails";
    lacks = "--outbox SIZE";
  }
  if (given != nullptr) return invalid("{}: means nothing without {}", given, lacks);
  if (is_of_scenario(launch)) {
    if (auto good = check_restarts(launch); !good) return good;
  }
  if (!launch.restart_all || (launch.file.empty() && !is_of_scenario(launch))) return {};
  return invalid("--restart: 'all' restarts real processes of one launcher; use on-failure with {}",
                 launch.file.empty() ? "a simulation" : "--config");
}

/// Checks once, instead of in every process of this machine, what the processes need of it. Other
/// hosts may differ.
Result<void> check_here(const LaunchOptions& launch) {
  if (is_mpi(launch.fabric) && names_mpi(launch.command.front())) {
    return refuse_program_of_mpi("--fabric", launch.fabric);
  }
  if (!launch.hosts.empty()) return check_fabric(launch.fabric);
  if (!launch.network.empty()) {
    const auto address = address_in_network(launch.network, local_addresses());
    if (!address) return address.error();
  }
  return check_fabric_here(launch.fabric);
}

Result<void> check_program(const std::vector<std::string>& command) {
  if (!command.front().empty() && command.front().front() != '-') return {};
  return invalid(
      "COMMAND: '{}' is no program; write weft run OPTIONS -- PROGRAM, with options of weft before "
      "the --",
      command.front());
}

/// Not by fmt::print, which throws when standard error is closed: the job would end with it.
void say(const std::string& line) {
  std::fputs(("weft run: " + line + "\n").c_str(), stderr);
}

/// Tells of a number of processes that went to the program. It may well be the program's own.
void hint_at_number(const std::vector<std::string>& command) {
  for (std::size_t i = 1; i + 1 < command.size(); ++i) {
    const bool is_name = command[i] == "-n" || command[i] == "-np" || command[i] == "--processes";
    if (!is_name || !parse_number<std::uint32_t>(command[i + 1])) continue;
    say(fmt::format(
        "'{0} {1}' goes to the program, and one process runs; for {1} processes, write -n {1} "
        "before the program",
        command[i], command[i + 1]));
    return;
  }
}

/// Tells of a launcher in place of a program: its processes have its own MPI.
void hint_at_launcher(const std::vector<std::string>& command) {
  if (!is_mpi_launcher(command.front())) return;
  fmt::print(stderr,
             "weft run: '{}' starts its processes with its own MPI, not with weft's; for N "
             "processes on weft, write weft run -n N -- PROGRAM without it\n",
             command.front());
}

/// Tells that mpirun has started several copies of this command, each for a job of its own.
void hint_at_copies() {
  struct Variables {
    const char* size;
    const char* rank;
  };
  for (const auto [size, rank] : {Variables{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                  Variables{"PMI_SIZE", "PMI_RANK"}}) {
    const char* const copies = std::getenv(size);
    const char* const own = std::getenv(rank);
    const auto number = parse_number<std::uint32_t>(copies != nullptr ? copies : "");
    if (!number || *number < 2 || own == nullptr || std::string_view(own) != "0") continue;
    fmt::print(stderr,
               "weft run: mpirun has started {0} copies of weft run, each for a job of its own; "
               "for one job of {0} processes, write weft run -n {0} without mpirun\n",
               *number);
    return;
  }
}

std::string read_processes(const std::string& text, std::uint32_t& processes) {
  const auto number = parse_number<std::uint32_t>(text);
  if (number && *number >= 1 && *number <= most_processes) {
    processes = *number;
    return {};
  }
  // The parser reads -np 2 as -n with the value p.
  if (text.starts_with('p')) return "-np is mpirun's option; write -n N for N processes";
  return fmt::format("'{}' is no number from 1 to {}; write one of those", text, most_processes);
}

void run(const RunCommand& command, const CLI::App& app, Outcome& outcome) {
  LaunchOptions options = command.launch;
  options.restart = command.restart != "never";
  options.restart_all = command.restart == "all";
  auto found = find_places(app, command.places, options);
  if (!found) return report_error(found.error(), outcome);
  if (const auto needed = check_needed(app, options); !needed) {
    return report_error(needed.error(), outcome);
  }
  const auto times = check_times(app, command.places, options);
  if (!times) return report_error(times.error(), outcome);
  if (const auto program = check_program(options.command); !program) {
    return report_error(program.error(), outcome);
  }
  if (options.processes == 1 && app.count("--processes") == 0) hint_at_number(options.command);
  hint_at_launcher(options.command);
  hint_at_copies();
  if (is_of_scenario(options)) {
    return run_in_simulation(options, command.simulation, outcome);
  }
  auto good = refuse_simulation_options(command.simulation);
  if (good.ok()) good = check_here(options);
  if (!good) return report_error(good.error(), outcome);
  // The processes write past our own buffer.
  std::fflush(stdout);
  const auto result = launch(options, say);
  if (!result) return report_error(result.error(), outcome);
  outcome.code = static_cast<ExitCode>(result->code);
}

/// The processes parse it too, each for itself: a mistake is told once, and before any begins.
void add_link_option(CLI::App& command, std::string& link) {
  command
      .add_option_function<std::string>(
          "--link",
          [&link](const std::string& text) {
            const auto shape = parse_shape("--link", text);
            if (!shape) throw CLI::ValidationError(shape.error().message);
            link = text;
          },
          "shape every process's link")
      ->type_name("RATE[,LATENCY[,cut-through]]");
}

}  // namespace

void add_run_command(CLI::App& root, Outcome& outcome) {
  auto* command = root.add_subcommand("run", "Run a program of many processes");
  const auto state = std::make_shared<RunCommand>();
  RunCommand& s = *state;
  const auto read_number = [&s](const std::string& text) {
    return read_processes(text, s.launch.processes);
  };
  add_text_option(*command, "-n,--processes", read_number,
                  fmt::format("number of processes, 1 to {}", most_processes),
                  fmt::format("{}", s.launch.processes))
      ->type_name("N");
  command->add_option("--fabric", s.launch.fabric, fabric_list() + " (a simulation)")
      ->capture_default_str();
  add_link_option(*command, s.launch.link);
  command
      ->add_option(
          "--restart", s.restart,
          "on-failure: restart each process that a signal or an error ended; all: restart all of "
          "them when one is")
      ->check(CLI::IsMember({"never", "on-failure", "all"}))
      ->capture_default_str();
  command
      ->add_option("--most-restarts", s.launch.most_restarts,
                   "most restarts of all processes together")
      ->capture_default_str();
  add_parsed(*command, "--timeout", s.launch.timeout, parse_duration,
             "fail operations that wait for a process that has been gone for this long and is not "
             "restarted",
             "10s, or 100ms for each process");
  add_parsed(
      *command, "--inbox", s.launch.inbox, parse_byte_count,
      "memory for unexpected messages, per process; in MPI programs only those of 8 to 32 KiB",
      "16MiB");
  add_parsed(
      *command, "--outbox", s.launch.outbox, parse_byte_count,
      "memory of each process for messages that it keeps for restarts; beyond it the process "
      "waits for a checkpoint, or an MPI program goes over to --restart all",
      "no limit; in MPI programs a quarter of the machine's memory, divided by the ranks on this "
      "host");
  command->add_flag("--outbox-fails", s.launch.outbox_fails,
                    "a message beyond --outbox is an error instead");
  command->add_option("--spill", s.launch.spill, "directory for messages beyond --outbox instead")
      ->type_name("DIR");
  add_simulation_options(*command, s.simulation);
  add_place_options(*command, s.places, s.launch);
  command->add_option("COMMAND", s.launch.command, "program and its arguments, after --")
      ->required();
  command->footer(help);
  command->callback([command, state, &outcome] { run(*state, *command, outcome); });
  // Not for people: --hosts starts this command on the other machines.
  auto* agent = root.add_subcommand("run-agent", "Start processes for a launcher elsewhere");
  agent->group("")->callback(
      [&outcome] { outcome.code = static_cast<ExitCode>(serve_launcher()); });
}

}  // namespace weft::cli
