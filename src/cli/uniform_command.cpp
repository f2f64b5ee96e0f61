// SPDX-License-Identifier: Apache-2.0
// weft simulate uniform: synthetic traffic on one network, and how fast it was simulated.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/make_error.hpp"
#include "base/units.hpp"
#include "cli/commands.hpp"
#include "cli/network_output.hpp"
#include "cli/output_directory.hpp"
#include "cli/parsed_option.hpp"
#include "cli/simulate_jobs.hpp"
#include "cli/stream_output.hpp"
#include "cli/team.hpp"
#include "cli/terminal.hpp"
#include "sim/traffic_run/traffic_run.hpp"

namespace weft::cli {
namespace {

struct UniformCommand {
  std::string topology = "fat-tree:64";
  std::string router;
  std::string network;
  sim::TrafficOptions traffic{.load = 0.7};
  std::uint64_t seed = 1;
  ByteCount packet = ByteCount::kib(4);
  Duration duration = Duration::milliseconds(1);
  std::uint32_t levels = 1;
  bool json = false;
  bool check_determinism = false;
  std::uint32_t parts = 0;
  std::string out;
  TraceSettings trace;
};

double per(double amount, double of) {
  return of > 0 ? amount / of : 0;
}

/// The bytes that arrived while sending lasted, as a share of what all host links carry.
double goodput_of_links(const sim::Scenario& scenario, const sim::TrafficOutcome& outcome) {
  const auto rate = static_cast<double>(scenario.network.host_link.rate.bytes_per_second());
  return outcome.all.goodput_bytes_per_s / (rate * outcome.hosts);
}

nlohmann::ordered_json to_json(const sim::Scenario& scenario, const TrafficRun& run) {
  const sim::TrafficOutcome& o = run.outcome;
  const auto hops = static_cast<double>(o.packet_hops);
  return {{"topology", scenario.topology},
          {"router", o.router},
          {"hosts", o.hosts},
          {"switches", o.switches},
          {"messages", o.all.messages},
          {"delivered", o.all.delivered},
          {"packet_hops", o.packet_hops},
          {"packet_hops_per_s", std::round(per(hops, run.simulation.wall_s))},
          {"events", o.events},
          {"events_per_hop", per(static_cast<double>(o.events), hops)},
          {"memory_bytes", o.memory_bytes},
          {"bytes_per_node", o.memory_bytes / std::max(o.hosts, 1U)},
          {"goodput_of_links", goodput_of_links(scenario, o)},
          {"latency_median_ns", o.all.latency_median_ns},
          {"latency_p99_ns", o.all.latency_p99_ns},
          {"wall_s", run.simulation.wall_s},
          {"trace_hash", fmt::format("{:016x}", o.trace_hash)},
          {"seed", scenario.seed}};
}

void print_text(const sim::Scenario& scenario, const TrafficRun& run) {
  const sim::TrafficOutcome& o = run.outcome;
  const auto hops = static_cast<double>(o.packet_hops);
  print_labelled("network",
                 {scenario.topology, o.router, fmt::format("{} hosts", o.hosts),
                  fmt::format("{} {}", o.switches, o.switches == 1 ? "switch" : "switches")});
  print_labelled("messages",
                 {fmt::format("{} of {} delivered", o.all.delivered, o.all.messages),
                  fmt::format("{:.1f} % of the links' rate", goodput_of_links(scenario, o) * 100)});
  const auto latency = [](double ns) {
    return to_text(Duration(static_cast<std::int64_t>(std::round(ns))));
  };
  print_labelled("latency", {fmt::format("median {}", latency(o.all.latency_median_ns)),
                             fmt::format("99 % {}", latency(o.all.latency_p99_ns))});
  print_labelled(
      "simulated",
      {fmt::format("in {:.3g} s", run.simulation.wall_s),
       fmt::format("{:.3g} million packet-hops/s", per(hops, run.simulation.wall_s) / 1e6),
       fmt::format("{:.2f} events per hop", per(static_cast<double>(o.events), hops)),
       fmt::format("{} per node", to_text(ByteCount(o.memory_bytes / std::max(o.hosts, 1U))))});
  print_labelled("trace",
                 {fmt::format("{:016x}", o.trace_hash), fmt::format("seed {}", scenario.seed)});
}

/// Completes and checks the options. Errors: an unknown network, a size or duration out of range.
Result<sim::Scenario> resolve(const UniformCommand& c) {
  sim::Scenario s;
  s.topology = c.topology;
  s.router = c.router;
  s.seed = c.seed;
  if (!c.network.empty()) {
    auto preset = sim::network_preset(c.network);
    if (!preset) {
      return Error{preset.error().code, fmt::format("--network: {}", preset.error().message)};
    }
    s.network = std::move(preset).value();
  }
  if (c.packet == ByteCount{} || c.packet > ByteCount::mib(1)) {
    return invalid("--packet: {} is no size of a packet; use 1 B to 1MiB", to_text(c.packet));
  }
  if (!(c.traffic.load > 0) || c.traffic.load > 1) {
    return invalid(
        "--load: {} is no share of a host's link; use a number above 0 and at most 1, such as 0.7",
        c.traffic.load);
  }
  if (c.duration.ticks() <= 0 || c.duration > Duration::seconds(1000)) {
    return invalid("--duration: {} is not above 0 and at most 1000s; use 1ms", to_text(c.duration));
  }
  s.network.mtu = static_cast<std::uint32_t>(c.packet.value());
  s.network.buffer_bytes =
      std::max(s.network.buffer_bytes, 2 * (s.network.mtu + s.network.packet_overhead));
  s.network.levels.assign(c.levels, {});
  s.duration = c.duration;
  sim::TrafficOptions traffic = c.traffic;
  traffic.message_bytes = c.packet.value();
  s.traffic = sim::one_per_level(traffic, c.levels);
  return s;
}

/// The options as the network's page shows them.
std::vector<std::pair<std::string, std::string>> parameters_of(const UniformCommand& command) {
  return {{"topology", command.topology},
          {"router", command.router.empty() ? "the topology's" : command.router},
          {"network", command.network.empty() ? "100 Gbit/s" : command.network},
          {"pattern", std::string(sim::to_text(command.traffic.pattern))},
          {"load", fmt::format("{}", command.traffic.load)},
          {"packet", to_text(command.packet)},
          {"duration", to_text(command.duration)},
          {"levels", fmt::format("{}", command.levels)}};
}

/// The first run, recorded if that is wanted.
Result<TrafficRun> run_recorded(const sim::Scenario& scenario, Team& team, NetworkOutput& output) {
  const auto network = output.begin();
  if (!network) return network.error();
  auto first = run_traffic(scenario, team, *network);
  if (!first || *network == nullptr) return first;
  if (auto good = output.end(); !good) return std::move(good).error();
  return first;
}

void write_network(const UniformCommand& command, NetworkOutput& output, Outcome& outcome) {
  if (command.out.empty()) return;
  for (const char* other : {"run.json", "compare.json"}) {
    forget_record(command.out, other, command.trace.replaces);
  }
  auto written = output.write({.command = outcome.command_line,
                               .seed = command.seed,
                               .parameters = parameters_of(command)});
  if (!written) return report_error(written.error(), outcome);
  announce_report(command.out, command.json, outcome);
}

/// Parts of a divided simulation see their own links only.
Result<void> check_output_in_parts(const UniformCommand& command, std::uint32_t parts) {
  if (auto good = check_trace_in_parts(command.trace, parts); !good) return good;
  if (parts == 1 || command.out.empty()) return {};
  return invalid(
      "--out: {}: a simulation in {} parts writes nothing there; start one process without --parts",
      command.out, parts);
}

/// Returns the file that --topology names, if it names one.
std::vector<std::string> files_read(const UniformCommand& command) {
  constexpr std::string_view scheme = "file:";
  if (!command.topology.starts_with(scheme)) return {};
  return {command.topology.substr(scheme.size())};
}

void run_uniform_command(const UniformCommand& command, Outcome& outcome) {
  const auto team = Team::assemble(command.parts, outcome);
  if (!team) return report_error(team.error(), outcome);
  const auto scenario = resolve(command);
  Result<void> good = scenario ? Result<void>() : scenario.error();
  if (good.ok()) good = check_output_in_parts(command, (*team)->parts());
  if (good = (*team)->agree(good); !good) return report_error(good.error(), outcome);
  NetworkOutput output(command.out, command.trace, command.json);
  Result<void> ready = output.check({}, {.read = files_read(command)});
  if (ready.ok()) ready = prepare_directory(command.out, command.trace.replaces);
  if (good = (*team)->agree(ready); !good) return report_error(good.error(), outcome);
  const auto first = run_recorded(*scenario, **team, output);
  if (!first) return report_error(first.error(), outcome);
  auto json = to_json(*scenario, *first);
  if (!command.json) print_text(*scenario, *first);
  if (command.check_determinism) {
    const auto second = simulation_of(run_traffic(*scenario, **team));
    const auto same = compare(first->simulation, second, command.json, outcome);
    if (same) json["deterministic"] = *same;
  }
  if (command.json) fmt::print("{}\n", json.dump());
  write_network(command, output, outcome);
}

}  // namespace

void add_uniform_command(CLI::App& simulate, Outcome& outcome) {
  auto* uniform = simulate.add_subcommand("uniform", "Send synthetic traffic through one network");
  auto state = std::make_shared<UniformCommand>();
  UniformCommand& s = *state;
  uniform
      ->add_option("--topology", s.topology, "topology: star, fat-tree, dragonfly, torus or file")
      ->type_name("WORD")
      ->capture_default_str();
  uniform->add_option("--router", s.router, "routing; by default the one that suits the topology")
      ->type_name("NAME");
  uniform
      ->add_option("--network", s.network,
                   "preset of links and switches; by default 100 "
                   "Gbit/s with little delay")
      ->type_name("PRESET");
  add_parsed(*uniform, "--pattern", s.traffic.pattern, sim::parse_pattern,
             "traffic pattern: uniform, permutation, incast or bursts", "uniform")
      ->type_name("NAME");
  uniform->add_option("--load", s.traffic.load, "offered load, as a share of each host's link")
      ->capture_default_str();
  add_parsed(*uniform, "--packet", s.packet, parse_byte_count,
             "size of a message, which is one packet", "4KiB");
  add_parsed(*uniform, "--duration", s.duration, parse_duration,
             "simulated time of sending; all messages arrive after it", "1ms");
  uniform->add_option("--levels", s.levels, "service levels that share the load")
      ->check(CLI::Range(1, 16))
      ->capture_default_str();
  uniform->add_option("--seed", s.seed, "seed of all random numbers")->capture_default_str();
  add_parts_option(*uniform, s.parts);
  uniform->add_flag("--check-determinism", s.check_determinism, "run twice and compare the traces");
  uniform->add_flag("--json", s.json, "print one JSON object")->group("Output");
  uniform->add_option("--out", s.out, "directory for the record of the network and its page")
      ->type_name("DIR")
      ->group("Output");
  add_force_option(*uniform, s.trace.replaces);
  add_trace_options(*uniform, s.trace);
  uniform->footer(
      "Examples:\n"
      "  weft simulate uniform --topology fat-tree:1024 --load 0.7 --packet 4KiB --json\n"
      "  weft simulate uniform --topology dragonfly:384,shape=xc40 --network aries --out "
      "out/dragonfly\n"
      "  mpirun -n 4 weft simulate uniform --topology fat-tree:16384,levels=3 --json");
  uniform->callback(
      [state, &outcome] { run_stoppable(outcome, [&] { run_uniform_command(*state, outcome); }); });
}

}  // namespace weft::cli
