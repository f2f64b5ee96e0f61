// SPDX-License-Identifier: Apache-2.0
#include "sim/traffic_run/traffic_run.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "base/check.hpp"
#include "base/make_error.hpp"
#include "base/units.hpp"
#include "faults/fault.hpp"
#include "sim/faults/network_fault_player.hpp"
#include "sim/faults/network_faults.hpp"
#include "sim/faults/random_faults.hpp"
#include "sim/run/stuck.hpp"
#include "sim/run/tally.hpp"
#include "sim/run/world.hpp"

namespace weft::sim {
namespace {

using Kind = faults::Fault::Kind;

Result<faults::Fault> parse_network_fault(World& world, const std::string& text,
                                          std::span<const std::uint32_t> hosts) {
  auto fault =
      faults::parse_fault(text, world.topology().hosts(), faults::FaultPlaces::hosts_and_cables);
  if (!fault) return fault;
  const bool of_links =
      fault->kind == Kind::link_down || fault->kind == Kind::slow || fault->kind == Kind::loss;
  if (!of_links) {
    return invalid(
        "--fault '{}': there is no job that it could happen to; add [job], or use link-down, slow "
        "or loss",
        text);
  }
  if (auto good = check_fault(world, *fault, hosts); !good) return std::move(good).error();
  return fault;
}

Result<void> refuse_random_faults_of_nodes(const Scenario& scenario) {
  const bool pause = scenario.random_faults.pauses_per_s > 0;
  if (!pause && scenario.random_faults.crashes_per_s <= 0) return {};
  return scenario.located(pause ? "random-faults.pauses-per-s" : "random-faults.crashes-per-s",
                          invalid("there is no job whose nodes could {}; take it out, or add [job]",
                                  pause ? "pause" : "crash"));
}

Result<std::vector<faults::Fault>> parse_faults(World& world) {
  const Scenario& scenario = world.scenario();
  if (auto good = refuse_random_faults_of_nodes(scenario); !good) return std::move(good).error();
  std::vector<std::uint32_t> hosts(world.topology().hosts());
  std::iota(hosts.begin(), hosts.end(), 0u);
  auto faults = draw_random_faults(scenario, world.topology().hosts(), 0);
  for (std::size_t i = 0; i < scenario.faults.size(); ++i) {
    auto fault = parse_network_fault(world, scenario.faults[i], hosts);
    if (!fault) return scenario.located(fmt::format("faults[{}]", i), fault.error());
    faults.push_back(std::move(fault).value());
  }
  return faults;
}

void expect_rates(World& world, const std::vector<faults::Fault>& faults) {
  for (const faults::Fault& fault : faults) {
    if (fault.kind == Kind::slow) world.expect_rates_up_to(fault.rate);
  }
}

/// The counts of one of the traffics, in one part or in all of them.
struct Counts {
  std::uint64_t in_time = 0;      ///< bytes delivered while it was sent
  std::uint64_t in_duration = 0;  ///< bytes delivered until the scenario's end of sending
  std::uint64_t sent = 0;
  std::uint64_t bytes = 0;
  LatencyHistogram latencies;
};

void add(const Counts& one, Counts& all) {
  all.in_time += one.in_duration;  // all of them are sent for the scenario's duration
  all.sent += one.sent;
  all.bytes += one.bytes;
  all.latencies.add(one.latencies);
}

TrafficFigures figures_of(const Counts& counts, double seconds) {
  return {.messages = counts.sent,
          .delivered = counts.latencies.count,
          .bytes = counts.bytes,
          .goodput_bytes_per_s = seconds > 0 ? static_cast<double>(counts.in_time) / seconds : 0,
          .latency_median_ns = counts.latencies.quantile_ns(0.5),
          .latency_p99_ns = counts.latencies.quantile_ns(0.99)};
}

std::uint64_t resident_bytes_at_most() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

/// Adds up the counts of all parts.
void add_up(Exchange& exchange, TrafficOutcome& outcome, std::vector<Counts>& counts) {
  Tally tally;
  tally.add(outcome.packet_hops);
  tally.add(outcome.events);
  tally.add(outcome.memory_bytes);
  tally.add(outcome.trace_hash);
  for (Counts& c : counts) {
    for (std::uint64_t* count : {&c.in_time, &c.in_duration, &c.sent, &c.bytes}) tally.add(*count);
    tally.add(c.latencies);
  }
  tally.sum(exchange);
}

void record(Recorder& recorder, World& world, PicoInstant last, NetworkRecording& network) {
  recorder.finish(last);
  std::vector<TrafficPattern> patterns;
  for (const TrafficOptions& traffic : world.scenario().traffic)
    patterns.push_back(traffic.pattern);
  network.topology = network_topology(recorder);
  network.run = network_run(recorder, world.engine().trace_hash(), names_of(patterns));
}

/// The scenario with traffics that end when it does.
Result<Scenario> bounded(const Scenario& scenario) {
  if (scenario.traffic.empty()) {
    return scenario.located("network", {ErrorCode::invalid_argument,
                                        "nothing happens in this network; add [[traffic]] or "
                                        "[job]"});
  }
  Scenario b = scenario;
  const PicoInstant end = PicoInstant() + to_pico(scenario.duration);
  for (TrafficOptions& traffic : b.traffic) traffic.end = std::min(traffic.end, end);
  return b;
}

/// The figures of half a run would pass for those of a whole one, so there are none.
Error interrupted(PicoInstant now, PicoInstant end) {
  const auto text = [](PicoInstant t) {
    return to_text(Duration((t - PicoInstant()).to_nanoseconds()));
  };
  if (now < end) {
    return make_error(ErrorCode::cancelled,
                      "interrupted after {} of {} simulated, without a result", text(now),
                      text(end));
  }
  return make_error(ErrorCode::cancelled,
                    "interrupted after {} simulated, while the last messages of its {} arrived, "
                    "without a result",
                    text(now), text(end));
}

/// Sends until `end`, then lets packets arrive. Returns the counts of this part.
Result<std::vector<Counts>> run(World& world, PicoInstant end, Exchange& exchange,
                                const Progress& progress, WantsEnd wants_end) {
  StoppableRun stoppable(world, exchange, std::move(wants_end));
  const auto run_until = [&](PicoInstant until) { return stoppable.run_until(until); };
  if (!run_in_steps(end, exchange, progress, run_until)) {
    return interrupted(world.engine().now(), end);
  }
  std::vector<Counts> counts(world.traffic().size());
  for (std::size_t i = 0; i < counts.size(); ++i) {
    counts[i].in_time = world.traffic()[i]->bytes_delivered_before_end();
    counts[i].in_duration = world.traffic()[i]->delivered_bytes();
  }
  if (!run_until(PicoInstant::never())) return interrupted(world.engine().now(), end);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const Traffic& t = *world.traffic()[i];
    counts[i].sent = t.sent();
    counts[i].bytes = t.delivered_bytes();
    counts[i].latencies = t.latencies();
  }
  return counts;
}

}  // namespace

Result<TrafficOutcome> run_traffic(const Scenario& scenario) {
  AloneExchange alone;
  return run_traffic(scenario, alone);
}

Result<TrafficOutcome> run_traffic(const Scenario& unbounded, Exchange& exchange,
                                   NetworkRecording* network, const Progress& progress,
                                   WantsEnd wants_end) {
  WEFT_CHECK(network == nullptr || exchange.size() == 1);
  const auto scenario = bounded(unbounded);
  if (!scenario) return scenario.error();
  auto made = World::make(*scenario, &exchange);
  if (!made) return std::move(made).error();
  World& world = **made;
  auto faults = parse_faults(world);
  if (!faults) return std::move(faults).error();
  expect_rates(world, *faults);
  std::optional<Recorder> recorder;
  if (network != nullptr) {
    recorder.emplace(world.network(), std::string(world.router().name()), network->trace);
  }
  const NetworkFaultPlayer links(world, std::move(faults).value());
  const PicoInstant end = PicoInstant() + to_pico(scenario->duration);
  auto ran = run(world, end, exchange, progress, std::move(wants_end));
  if (!ran) return std::move(ran).error();
  std::vector<Counts> counts = std::move(ran).value();
  const PicoInstant last = std::max(end, world.engine().last_event());
  if (recorder) record(*recorder, world, last, *network);

  TrafficOutcome outcome{.hosts = world.topology().hosts(),
                         .switches = world.topology().switches(),
                         .router = std::string(world.router().name()),
                         .packet_hops = world.network().packet_hops(),
                         .events = world.engine().events(),
                         .memory_bytes = exchange.first_of_process() ? resident_bytes_at_most() : 0,
                         .trace_hash = world.engine().trace_hash(),
                         .simulated = Duration(greatest(exchange, last.ticks()) / 1'000)};
  add_up(exchange, outcome, counts);
  Counts all;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const TrafficOptions& o = scenario->traffic[i];
    outcome.traffic.push_back(figures_of(counts[i], (o.end - o.start).to_seconds()));
    outcome.traffic.back().pattern = o.pattern;
    add(counts[i], all);
  }
  outcome.all = figures_of(all, scenario->duration.to_seconds());
  // All parts see the same links.
  auto good = check_arrival(all.sent, all.latencies.count, world.network().links_down());
  if (!good) return std::move(good).error();
  return outcome;
}

}  // namespace weft::sim
