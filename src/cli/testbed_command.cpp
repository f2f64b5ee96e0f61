// SPDX-License-Identifier: Apache-2.0
// weft testbed up|down|list|run
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/make_error.hpp"
#include "base/units.hpp"
#include "cli/commands.hpp"
#include "cli/parsed_option.hpp"
#include "fabric/tcp/tcp.hpp"
#include "faults/fault.hpp"
#include "faults/host_list.hpp"
#include "testbed/host_runner.hpp"
#include "testbed/testbed.hpp"

namespace weft::cli {
namespace {

using testbed::Testbed;

constexpr const char* kGroupHelp = R"help(
A switched cluster on this machine: network namespaces around a bridge, with the rates and queues of
a real switch. It needs no root where the kernel allows user namespaces. See docs/testbed.md.

Examples:
  weft testbed run --hosts 2 --link 100Mbit -- ping -c 3 '{addresses[0]}'
  weft testbed up --name lab --hosts 16 --link 1Gbit && weft testbed list
  weft testbed down --name lab
)help";

constexpr const char* kUpHelp = R"help(
Examples:
  weft testbed up
  weft testbed up --name lab --hosts 16 --link 100Mbit --queue 64KiB
  weft testbed up --name fast --hosts 4 --link 10Gbit --mtu 1500 --lifetime 60min
)help";

constexpr const char* kDownHelp = R"help(
Examples:
  weft testbed down
  weft testbed down --name lab
  weft testbed down --all
)help";

constexpr const char* kListHelp = R"help(
Examples:
  weft testbed list
  weft testbed up --name lab && weft testbed list
  weft testbed list && weft testbed down --all
)help";

constexpr const char* kRunHelp = R"help(
In the command after --, weft replaces {host}, {rank}, {hosts}, {address}, {addresses} and
{addresses[N]}. The environment has them as WEFT_TESTBED_HOST and so on. Faults:
  at=2s link-down host3 for=1s           at=2s partition host0-3|host4,host5 for=1s
  at=2s loss host3 1% for=1s             at=2s slow host3 10Mbit for=1s
  at=2s stop host3 for=1s                at=2s kill host3   (also cont, restart)

Examples:
  weft testbed run --hosts 4 --link 100Mbit -- sh -c 'echo I am {address}, {rank} of {hosts}'
  weft testbed run --hosts 4 --uplink 100Mbit --levels 1,4 -- ping -c 3 '{addresses[0]}'
  weft testbed run --hosts 2 --fault 'at=1s link-down host1 for=1s' -- ping -c 4 -W 1 '{addresses[0]}'
  weft testbed up --name lab && weft testbed run --name lab --on host0-3 -- hostname -I
)help";

struct Words {
  testbed::TestbedOptions shape;  // but for its levels
  std::vector<std::string> levels;
  std::string name = "default";
  bool all = false;
  std::string on;
  std::vector<std::string> faults;
  testbed::RunOptions run;  // but for what depends on the number of hosts
  bool no_prefix = false;
};

// Options that describe a testbed.
std::vector<CLI::Option*> add_shape(CLI::App& command, Words& words) {
  testbed::TestbedOptions& shape = words.shape;
  return {
      command.add_option("--hosts", shape.hosts, "number of hosts, 1 to 64")->capture_default_str(),
      add_parsed(command, "--link", shape.link, parse_bandwidth,
                 "rate of each link, as 100Mbit; 0: not limited", "0"),
      add_parsed(command, "--uplink", shape.uplink, parse_bandwidth,
                 "rate of the link between two switches, with half of the hosts each; 0: "
                 "one switch",
                 "0"),
      add_words(command, "--levels", words.levels, {.known = {}, .may_repeat = true},
                "weights of service levels 0, 1, ... at switch ports, as 1,2,4,8; by "
                "default ports have one queue")
          ->type_name("WEIGHTS"),
      add_parsed(command, "--queue", shape.queue, parse_byte_count,
                 "bytes that a switch port queues before it drops packets", "128KiB"),
      add_parsed(command, "--delay", shape.delay, parse_duration,
                 "one-way latency to add between hosts, as 50us; needs netem", "0"),
      command.add_option("--mtu", shape.mtu, "MTU of the links, 1280 to 9000 bytes")
          ->capture_default_str(),
      command
          .add_option("--congestion-control", shape.congestion_control,
                      "TCP's congestion control, one that the kernel allows")
          ->capture_default_str(),
      add_parsed(command, "--lifetime", shape.lifetime, parse_duration,
                 "take the testbed down after this time", "720min")};
}

/// One that was asked for has to be there; the default gives way to the kernel's own.
Result<void> check_congestion_control(const std::string& wanted) {
  if (wanted == testbed::TestbedOptions{}.congestion_control) return {};
  std::ifstream file("/proc/sys/net/ipv4/tcp_available_congestion_control");
  std::vector<std::string> names;
  for (std::string name; file >> name;) names.push_back(name);
  const bool known = std::find(names.begin(), names.end(), wanted) != names.end();
  if (names.empty() || known || wanted.empty()) return {};
  return invalid("--congestion-control: this kernel has no '{}'; use one of {}", wanted,
                 fmt::join(names, ", "));
}

/// Levels as connections of weft mark them.
Result<std::vector<testbed::LevelClass>> levels_of(const std::vector<std::string>& weights) {
  const auto dscp = TcpOptions{}.dscp;
  std::vector<testbed::LevelClass> levels;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    std::uint8_t weight = 0;
    const char* const end = weights[i].data() + weights[i].size();
    const auto [rest, error] = std::from_chars(weights[i].data(), end, weight);
    if (error != std::errc() || rest != end || weight == 0) {
      return invalid("--levels: '{}' is no weight of a level: give 1 to 255", weights[i]);
    }
    // More than there are levels are refused with the rest of the options.
    levels.push_back({.dscp = i < dscp.size() ? dscp[i] : std::uint8_t{0}, .weight = weight});
  }
  return levels;
}

Result<testbed::TestbedOptions> understand(const Words& words) {
  testbed::TestbedOptions options = words.shape;
  auto known = check_congestion_control(options.congestion_control);
  if (!known.ok()) return std::move(known).error();
  auto levels = levels_of(words.levels);
  if (!levels.ok()) return levels.error();
  options.levels = *std::move(levels);
  if (auto possible = testbed::check(options); !possible.ok()) return std::move(possible).error();
  return options;
}

std::string describe(const Testbed& bed) {
  const auto& options = bed.options();
  const std::string last = bed.address(bed.hosts() - 1);
  return fmt::format("{} host{} {} to {}, links {}, port queues {}, TCP {}", bed.hosts(),
                     bed.hosts() == 1 ? "" : "s", bed.address(0), last,
                     options.link == Bandwidth{} ? "not limited" : to_text(options.link),
                     to_text(options.queue), bed.congestion_control());
}

Result<void> up(const Words& words) {
  auto options = understand(words);
  if (!options.ok()) return std::move(options).error();
  auto bed = Testbed::up_named(*options, words.name);
  if (!bed.ok()) return std::move(bed).error();
  fmt::print("testbed '{}' is up: {}\n", words.name, describe(*bed));
  fmt::print("run in it:    weft testbed run --name {} -- COMMAND\n", words.name);
  fmt::print("take it down: weft testbed down --name {}\n", words.name);
  return {};
}

Result<void> down(const Words& words) {
  if (!words.all) {
    auto ended = Testbed::down(words.name);
    if (ended.ok() || ended.error().code != ErrorCode::not_found) return ended;
    return make_error(
        ErrorCode::not_found,
        "--name {}: no testbed of this name is up; weft testbed list shows those that are",
        words.name);
  }
  Result<void> worst;
  for (const auto& name : Testbed::names()) {
    auto ended = Testbed::down(name);
    if (worst.ok()) worst = std::move(ended);
  }
  return worst;
}

void list() {
  for (const auto& name : Testbed::names()) {
    const auto bed = Testbed::attach(name);
    fmt::print("{}: {}\n", name, bed.ok() ? describe(*bed) : bed.error().message);
  }
}

Result<Duration> parse_time_limit(const std::string& text) {
  auto limit = parse_duration(text);
  if (!limit || *limit > Duration{}) return limit;
  return invalid("'{}' leaves no time to run in; give more than 0, as 60min", text);
}

Result<testbed::RunOptions> understand_run(const Words& words, std::uint32_t hosts) {
  testbed::RunOptions run = words.run;
  run.prefix = !words.no_prefix;
  if (!words.on.empty()) {
    auto on = faults::parse_hosts(words.on, hosts);
    if (!on.ok()) return Error{on.error().code, "--on: " + on.error().message};
    run.hosts = *std::move(on);
  }
  for (const auto& text : words.faults) {
    auto fault = faults::parse_fault(text, hosts);
    if (!fault.ok()) return std::move(fault).error();
    run.faults.push_back(*std::move(fault));
  }
  return run;
}

Result<testbed::RunResult> run_in(Result<Testbed> bed, const Words& words) {
  if (!bed.ok()) return std::move(bed).error();
  const auto run = understand_run(words, bed->hosts());
  if (!run.ok()) return run.error();
  return testbed::run_in_hosts(*bed, *run);
}

// In a testbed that is up already, or in one of its own.
Result<testbed::RunResult> run(const Words& words, bool named) {
  if (named) return run_in(Testbed::attach(words.name), words);
  auto options = understand(words);
  if (!options.ok()) return std::move(options).error();
  // Wrong options are reported before anything is set up.
  if (auto run = understand_run(words, options->hosts); !run.ok()) return std::move(run).error();
  return run_in(Testbed::up(*options), words);
}

void conclude(const Words& words, const testbed::RunResult& result, Outcome& outcome) {
  if (result.interrupted) {
    outcome.code = result.signal == SIGTERM ? ExitCode::terminated : ExitCode::interrupted;
  } else if (result.timed_out) {
    report_error(make_error(ErrorCode::timed_out, "--time-limit {}: the command was still running",
                            to_text(words.run.time_limit)),
                 outcome);
    outcome.code = ExitCode::failed;
  } else if (result.exit_code != 0) {
    // The command's own, as a shell passes it on.
    outcome.code = static_cast<ExitCode>(result.exit_code);
  } else if (result.failed_faults > 0) {
    outcome.code = ExitCode::failed;
  }
}

void add_up(CLI::App& group, Outcome& outcome) {
  auto* command = group.add_subcommand("up", "Set up a testbed that stays");
  const auto words = std::make_shared<Words>();
  add_shape(*command, *words);
  command->add_option("--name", words->name, "name of the testbed")->capture_default_str();
  command->footer(kUpHelp);
  command->callback([words, &outcome] {
    if (auto done = up(*words); !done.ok()) report_error(done.error(), outcome);
  });
}

void add_down(CLI::App& group, Outcome& outcome) {
  auto* command = group.add_subcommand("down", "Take a testbed down, with all processes in it");
  const auto words = std::make_shared<Words>();
  auto* name =
      command->add_option("--name", words->name, "name of the testbed")->capture_default_str();
  command->add_flag("--all", words->all, "take all testbeds down")->excludes(name);
  command->footer(kDownHelp);
  command->callback([words, &outcome] {
    if (auto done = down(*words); !done.ok()) report_error(done.error(), outcome);
  });
}

void add_list(CLI::App& group) {
  auto* command = group.add_subcommand("list", "List the testbeds that are up");
  command->footer(kListHelp);
  command->callback(list);
}

void add_run(CLI::App& group, Outcome& outcome) {
  auto* command = group.add_subcommand("run", "Run a command on the hosts of a testbed");
  const auto words = std::make_shared<Words>();
  const auto shape = add_shape(*command, *words);
  auto* name = command->add_option("--name", words->name,
                                   "use the testbed of this name, which is already up");
  for (CLI::Option* option : shape) name->excludes(option);
  command->add_option("--on", words->on, "hosts to run on: host0,host2-3; by default all");
  command
      ->add_option("--fault", words->faults,
                   "fault to inject (several allowed), as 'at=2s kill host3'")
      ->allow_extra_args(false);
  add_parsed(*command, "--time-limit", words->run.time_limit, parse_time_limit,
             "end the command after this time", "60min");
  command->add_flag("--no-prefix", words->no_prefix,
                    "print lines of output without their host's name");
  command->add_option("COMMAND", words->run.command, "program and its arguments, after --")
      ->required();
  command->footer(kRunHelp);
  command->callback([words, name, &outcome] {
    // The processes write past our own buffer.
    std::fflush(stdout);
    const auto result = run(*words, name->count() > 0);
    if (result.ok()) {
      conclude(*words, *result, outcome);
    } else {
      report_error(result.error(), outcome);
    }
  });
}

}  // namespace

void add_testbed_command(CLI::App& root, Outcome& outcome) {
  auto* group = root.add_subcommand(
      "testbed", "Make a switched cluster of network namespaces on this machine");
  group->require_subcommand(1);
  group->footer(kGroupHelp);
  add_up(*group, outcome);
  add_down(*group, outcome);
  add_list(*group);
  add_run(*group, outcome);
}

}  // namespace weft::cli
