// SPDX-License-Identifier: Apache-2.0
// weft simulate uniform: synthetic traffic on one network, and how fast it was simulated.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/units.hpp"
#include "cli/commands.hpp"
#include "cli/network_output.hpp"
#include "cli/output_directory.hpp"
#include "cli/parsed_option.hpp"
#include "cli/stream_output.hpp"
#include "cli/team.hpp"
#include "runtime/clock.hpp"
#include "sim/run/uniform.hpp"

namespace weft::cli {
namespace {

struct UniformCommand {
  sim::UniformOptions options;
  std::string network;
  ByteCount packet = ByteCount::kib(4);
  Duration duration = Duration::milliseconds(1);
  std::uint32_t levels = 1;
  bool json = false;
  bool check_determinism = false;
  std::uint32_t parts = 0;
  std::string out;
  TraceSettings trace;
};

/// Figures of one run, and how long it took.
struct Run {
  sim::UniformOutcome outcome;
  double wall_s = 0;
};

Result<Run> run(const sim::UniformOptions& options, Team& team,
                sim::Recording* recording = nullptr) {
  const Instant start = monotonic_now();
  SimulationLine line;
  auto outcome = team.run<sim::UniformOutcome>([&](sim::Exchange& exchange) {
    return sim::run_uniform(options, exchange, recording, line.progress());
  });
  if (!outcome) return std::move(outcome).error();
  return Run{*std::move(outcome), (monotonic_now() - start).to_seconds()};
}

double per(double amount, double of) {
  return of > 0 ? amount / of : 0;
}

nlohmann::ordered_json to_json(const sim::UniformOptions& options, const Run& run) {
  const sim::UniformOutcome& o = run.outcome;
  const auto hops = static_cast<double>(o.packet_hops);
  return {{"topology", options.topology},
          {"router", o.router},
          {"hosts", o.hosts},
          {"switches", o.switches},
          {"messages", o.messages},
          {"delivered", o.delivered},
          {"packet_hops", o.packet_hops},
          {"packet_hops_per_s", std::round(per(hops, run.wall_s))},
          {"events", o.events},
          {"events_per_hop", per(static_cast<double>(o.events), hops)},
          {"memory_bytes", o.memory_bytes},
          {"bytes_per_node", o.memory_bytes / std::max(o.hosts, 1U)},
          {"goodput_of_links", o.goodput_of_links},
          {"latency_median_ns", o.latency_median_ns},
          {"latency_p99_ns", o.latency_p99_ns},
          {"wall_s", run.wall_s},
          {"trace_hash", fmt::format("{:016x}", o.trace_hash)},
          {"seed", options.seed}};
}

void print_text(const sim::UniformOptions& options, const Run& run) {
  const sim::UniformOutcome& o = run.outcome;
  const auto hops = static_cast<double>(o.packet_hops);
  fmt::print("{}, {}: {} hosts, {} switches\n", options.topology, o.router, o.hosts, o.switches);
  fmt::print("messages     {} of {} delivered, {:.1f} % of the links' rate while sending\n",
             o.delivered, o.messages, o.goodput_of_links * 100);
  fmt::print("latency      median {:.3g} us, 99 % {:.3g} us\n", o.latency_median_ns / 1e3,
             o.latency_p99_ns / 1e3);
  fmt::print(
      "simulated    in {:.3g} s: {:.3g} million packet-hops/s\n"
      "             {:.2f} events per hop, {} per node\n",
      run.wall_s, per(hops, run.wall_s) / 1e6, per(static_cast<double>(o.events), hops),
      to_text(ByteCount(o.memory_bytes / std::max(o.hosts, 1U))));
  fmt::print("trace        {:016x}, seed {}\n", o.trace_hash, options.seed);
}

/// Completes and checks the options. Errors: an unknown network, a size or duration out of range.
Result<sim::UniformOptions> resolve(const UniformCommand& c) {
  sim::UniformOptions o = c.options;
  if (!c.network.empty()) {
    auto preset = sim::network_preset(c.network);
    if (!preset) {
      return Error{preset.error().code, fmt::format("--network: {}", preset.error().message)};
    }
    o.network = std::move(preset).value();
  }
  if (c.packet > ByteCount::mib(1)) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("--packet: {} is more than a packet can have; use at most 1MiB",
                             to_text(c.packet))};
  }
  if (!(o.load > 0) || o.load > 1) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("--load: {} is no share of a host's link; use a number above 0 and at "
                             "most 1, such as 0.7",
                             o.load)};
  }
  if (c.duration.ticks() <= 0 || c.duration > Duration::seconds(1000)) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("--duration: {} is not above 0 and at most 1000s; use 1ms",
                             to_text(c.duration))};
  }
  o.packet_bytes = c.packet.value();
  o.network.mtu = static_cast<std::uint32_t>(c.packet.value());
  o.network.buffer_bytes =
      std::max(o.network.buffer_bytes, 2 * (o.network.mtu + o.network.packet_overhead));
  o.network.levels.assign(c.levels, {});
  o.duration = to_pico(c.duration);
  return o;
}

/// The options as the network's page shows them.
std::vector<std::pair<std::string, std::string>> parameters_of(const UniformCommand& command,
                                                               const sim::UniformOptions& o) {
  return {{"topology", o.topology},
          {"router", o.router.empty() ? "the topology's" : o.router},
          {"network", command.network.empty() ? "100 Gbit/s" : command.network},
          {"pattern", std::string(sim::to_text(o.pattern))},
          {"load", fmt::format("{}", o.load)},
          {"packet", to_text(command.packet)},
          {"duration", to_text(command.duration)},
          {"levels", fmt::format("{}", command.levels)}};
}

/// The first run, recorded if that is wanted.
Result<Run> run_recorded(const sim::UniformOptions& options, Team& team, NetworkOutput& output) {
  const auto network = output.begin();
  if (!network) return network.error();
  if (*network == nullptr) return run(options, team);
  sim::Recording recording{.trace = (*network)->trace, .recorder = nullptr};
  auto first = run(options, team, &recording);
  if (!first) return first;
  const std::vector<sim::TrafficPattern> patterns(options.network.levels.size(), options.pattern);
  (*network)->topology = stream::network_topology(*recording.recorder);
  (*network)->run = stream::network_run(*recording.recorder, first->outcome.trace_hash,
                                        stream::names_of(patterns));
  if (auto good = output.end(); !good) return std::move(good).error();
  return first;
}

void write_network(const UniformCommand& command, const sim::UniformOptions& options,
                   NetworkOutput& output, Outcome& outcome) {
  if (command.out.empty()) return;
  for (const char* other : {"run.json", "compare.json"}) forget_record(command.out, other);
  auto written = output.write({.command = outcome.command_line,
                               .seed = options.seed,
                               .parameters = parameters_of(command, options)});
  if (!written) return report_error(written.error(), outcome);
  announce_report(command.out, command.json, outcome);
}

/// Parts of a divided simulation see their own links only.
Result<void> check_output_in_parts(const UniformCommand& command, std::uint32_t parts) {
  if (auto good = check_trace_in_parts(command.trace, parts); !good) return good;
  if (parts == 1 || command.out.empty()) return {};
  return Error{ErrorCode::invalid_argument,
               fmt::format("--out: {}: a simulation in {} parts writes nothing there; start one "
                           "process without --parts",
                           command.out, parts)};
}

void run_uniform_command(const UniformCommand& command, Outcome& outcome) {
  const auto options = resolve(command);
  if (!options) return report_error(options.error(), outcome);
  const auto team = Team::assemble(command.parts, outcome);
  if (!team) return report_error(team.error(), outcome);
  if (auto good = (*team)->agree(check_output_in_parts(command, (*team)->parts())); !good)
    return report_error(good.error(), outcome);
  NetworkOutput output(command.out, command.trace, command.json);
  Result<void> ready = output.check({});
  if (ready.ok()) ready = prepare_directory(command.out, command.trace.replaces);
  if (auto good = (*team)->agree(ready); !good) return report_error(good.error(), outcome);
  const auto first = run_recorded(*options, **team, output);
  if (!first) return report_error(first.error(), outcome);
  auto json = to_json(*options, *first);
  if (!command.json) print_text(*options, *first);
  if (command.check_determinism) {
    const auto second = run(*options, **team);
    if (!second) return report_error(second.error(), outcome);
    const bool same = second->outcome.trace_hash == first->outcome.trace_hash;
    json["deterministic"] = same;
    if (!same) {
      report_error(
          {ErrorCode::unavailable,
           fmt::format("two runs with seed {} differ: traces {:016x} and {:016x}", options->seed,
                       first->outcome.trace_hash, second->outcome.trace_hash)},
          outcome);
    } else if (!command.json) {
      fmt::print("a second run did the same\n");
    }
  }
  if (command.json) fmt::print("{}\n", json.dump());
  write_network(command, *options, output, outcome);
}

}  // namespace

void add_uniform_command(CLI::App& simulate, Outcome& outcome) {
  auto* uniform = simulate.add_subcommand("uniform", "send synthetic traffic through one network");
  auto state = std::make_shared<UniformCommand>();
  UniformCommand& s = *state;
  uniform->add_option("--topology", s.options.topology, "star, fat-tree, dragonfly, torus or file")
      ->type_name("WORD")
      ->capture_default_str();
  uniform->add_option("--router", s.options.router, "by default the one that suits the topology")
      ->type_name("NAME");
  uniform
      ->add_option("--network", s.network,
                   "what links and switches are like; by default 100 "
                   "Gbit/s with little delay")
      ->type_name("PRESET");
  add_parsed(*uniform, "--pattern", s.options.pattern, sim::parse_pattern,
             "uniform, permutation, incast or bursts", "uniform")
      ->type_name("NAME");
  uniform->add_option("--load", s.options.load, "share of each host's link")->capture_default_str();
  add_parsed(*uniform, "--packet", s.packet, parse_byte_count, "a message, in one packet", "4KiB")
      ->type_name("SIZE");
  add_parsed(*uniform, "--duration", s.duration, parse_duration,
             "of sending, simulated; then all arrives", "1ms")
      ->type_name("TIME");
  uniform->add_option("--levels", s.levels, "service levels that share the load")
      ->check(CLI::Range(1, 16))
      ->capture_default_str();
  uniform->add_option("--seed", s.options.seed, "of everything random")->capture_default_str();
  add_parts_option(*uniform, s.parts);
  uniform->add_flag("--check-determinism", s.check_determinism, "run twice and compare the traces");
  uniform->add_flag("--json", s.json, "print one JSON object");
  uniform->add_option("--out", s.out, "directory for what the network did, and a page about it")
      ->type_name("DIR")
      ->group("Output");
  add_force_option(*uniform, s.trace.replaces);
  add_trace_options(*uniform, s.trace);
  refuse_negative_numbers(*uniform);
  uniform->footer(
      "Examples:\n"
      "  weft simulate uniform --topology fat-tree:1024 --load 0.7 --packet 4KiB --json\n"
      "  weft simulate uniform --topology dragonfly:384,shape=xc40 --network aries --out "
      "out/dragonfly\n"
      "  mpirun -n 4 weft simulate uniform --topology fat-tree:16384,levels=3 --json");
  uniform->callback([state, &outcome] { run_uniform_command(*state, outcome); });
}

}  // namespace weft::cli
