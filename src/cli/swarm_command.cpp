// SPDX-License-Identifier: Apache-2.0
// weft simulate swarm: many small simulated jobs, each drawn from a seed and held to its promises.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/parsed_option.hpp"
#include "runtime/clock.hpp"
#include "sim/scenario/scenario_file.hpp"
#include "stream/swarm/swarm.hpp"

namespace weft::cli {
namespace {

/// Failures that are printed; all are counted.
constexpr std::size_t most_printed = 10;

struct Seeds {
  std::uint64_t first = 1;
  std::uint64_t last = 200;
};

struct SwarmCommand {
  Seeds seeds;
  std::string scenario;
  std::uint32_t jobs = 1;
  bool json = false;
  bool verbose = false;
};

/// "A..B", or one number.
Result<Seeds> parse_seeds(const std::string& text) {
  const auto dots = text.find("..");
  const std::string_view all(text);
  const auto number = [](std::string_view digits, std::uint64_t& value) {
    const auto* end = digits.data() + digits.size();
    const auto read = std::from_chars(digits.data(), end, value);
    return read.ec == std::errc() && read.ptr == end;
  };
  Seeds seeds;
  const std::string_view first = all.substr(0, dots);
  const std::string_view last = dots == std::string::npos ? first : all.substr(dots + 2);
  if (!number(first, seeds.first) || !number(last, seeds.last)) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("'{}' is no range of seeds: write 1..1000", text)};
  }
  if (seeds.last < seeds.first || seeds.last == UINT64_MAX) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("'{}': the last seed is before the first, or too large", text)};
  }
  return seeds;
}

/// The line that runs one seed again.
std::string replay(const SwarmCommand& command, std::uint64_t seed) {
  std::string line = fmt::format("weft simulate swarm --seeds {}..{} --verbose", seed, seed);
  if (!command.scenario.empty()) line += fmt::format(" --scenario {}", command.scenario);
  return line;
}

void show_progress(const stream::SwarmOutcome& so_far, std::uint64_t all, Instant& next) {
  if (monotonic_now() < next) return;
  next = monotonic_now() + Duration::milliseconds(500);
  fmt::print(stderr, "\r{} of {} seeds, {} failures ", so_far.runs, all, so_far.failures.size());
  std::fflush(stderr);
}

void print_outcome(const SwarmCommand& command, const stream::SwarmOutcome& o, double seconds) {
  if (command.json) {
    nlohmann::ordered_json json = {{"runs", o.runs},           {"failures", o.failures.size()},
                                   {"first_failure", nullptr}, {"timeslices", o.timeslices},
                                   {"events", o.events},       {"wall_s", seconds}};
    if (!o.failures.empty()) {
      json["first_failure"] = replay(command, o.failures[0].seed);
      json["what"] = o.failures[0].what;
    }
    fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    return;
  }
  for (std::size_t i = 0; i < std::min(o.failures.size(), most_printed); ++i) {
    fmt::print("seed {}: {}\n  {}\n", o.failures[i].seed, o.failures[i].what,
               replay(command, o.failures[i].seed));
  }
  if (o.failures.size() > most_printed) {
    fmt::print("and {} more\n", o.failures.size() - most_printed);
  }
  fmt::print("{} seeds, {} failures; {} timeslices in {:.1f} s\n", o.runs, o.failures.size(),
             o.timeslices, seconds);
}

void run_swarm_command(const SwarmCommand& command, Outcome& outcome) {
  stream::SwarmOptions options{.first = command.seeds.first,
                               .last = command.seeds.last,
                               .network = std::nullopt,
                               .jobs = command.jobs,
                               .show_log = command.verbose};
  if (!command.scenario.empty()) {
    auto scenario = sim::read_scenario(command.scenario);
    if (!scenario) return report_error(scenario.error(), outcome);
    options.network = std::move(scenario).value();
  }
  if (command.verbose) {
    for (std::uint64_t seed = options.first; seed <= options.last; ++seed) {
      const auto drawn =
          stream::describe_swarm_seed(seed, options.network ? &*options.network : nullptr);
      fmt::print(command.json ? stderr : stdout, "{}\n", drawn);
    }
    std::fflush(stdout);
  }
  const Instant start = monotonic_now();
  Instant next = start;
  const std::uint64_t all = options.last - options.first + 1;
  const bool terminal = ::isatty(STDERR_FILENO) != 0;
  const auto result = stream::run_swarm(options, [&](const stream::SwarmOutcome& so_far) {
    if (terminal) show_progress(so_far, all, next);
  });
  if (terminal) fmt::print(stderr, "\r\033[K");
  if (!result) return report_error(result.error(), outcome);
  print_outcome(command, *result, (monotonic_now() - start).to_seconds());
  if (!result->failures.empty()) outcome.code = ExitCode::failed;
}

}  // namespace

void add_swarm_command(CLI::App& simulate, Outcome& outcome) {
  auto* swarm = simulate.add_subcommand(
      "swarm", "run many jobs drawn from seeds, with faults, and check what they promise");
  auto state = std::make_shared<SwarmCommand>();
  SwarmCommand& s = *state;
  add_parsed(*swarm, "--seeds", s.seeds, parse_seeds, "which, the first to the last", "1..200")
      ->type_name("A..B");
  swarm->add_option("--scenario", s.scenario, "take its network, and draw the rest")
      ->type_name("FILE");
  swarm->add_option("--jobs", s.jobs, "processes at a time")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  swarm->add_flag("--verbose", s.verbose, "print what each seed stands for");
  swarm->add_flag("--json", s.json, "print one JSON object: runs, failures, first_failure");
  swarm->footer(
      "A failure is printed with the line that runs it again.\n"
      "Examples:\n"
      "  weft simulate swarm --seeds 1..1000 --jobs 2\n"
      "  weft simulate swarm --seeds 4711..4711 --verbose\n"
      "  weft simulate swarm --seeds 1..1000 --scenario dragonfly.toml --json");
  swarm->callback([state, &outcome] { run_swarm_command(*state, outcome); });
}

}  // namespace weft::cli
