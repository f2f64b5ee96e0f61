// SPDX-License-Identifier: Apache-2.0
#include "stream/simulated/simulated_traffic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "sim/run/world.hpp"
#include "stream/simulated/network_faults.hpp"
#include "stream/simulated/random_faults.hpp"
#include "testbed/fault.hpp"

namespace weft::stream {
namespace {

using Kind = testbed::Fault::Kind;

Result<testbed::Fault> parse_network_fault(sim::World& world, const std::string& text,
                                           std::span<const std::uint32_t> hosts) {
  auto fault =
      testbed::parse_fault(text, world.topology().hosts(), testbed::FaultPlaces::hosts_and_cables);
  if (!fault) return fault;
  const bool of_links =
      fault->kind == Kind::link_down || fault->kind == Kind::slow || fault->kind == Kind::loss;
  if (!of_links) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("--fault '{}': there is no job that it could happen to; add [job], or "
                             "use link-down, slow or loss",
                             text)};
  }
  if (auto good = check_fault(world, *fault, hosts); !good) return std::move(good).error();
  return fault;
}

Result<std::vector<testbed::Fault>> parse_faults(sim::World& world) {
  const sim::Scenario& scenario = world.scenario();
  sim::Scenario links_only = scenario;
  links_only.random_faults.pauses_per_s = 0;
  links_only.random_faults.crashes_per_s = 0;
  std::vector<std::uint32_t> hosts(world.topology().hosts());
  std::iota(hosts.begin(), hosts.end(), 0u);
  auto faults = draw_random_faults(links_only, world.topology().hosts(), 0);
  for (std::size_t i = 0; i < scenario.faults.size(); ++i) {
    auto fault = parse_network_fault(world, scenario.faults[i], hosts);
    if (!fault) return scenario.located(fmt::format("faults[{}]", i), fault.error());
    faults.push_back(std::move(fault).value());
  }
  return faults;
}

/// Until nothing happens any more.
void drain(sim::Engine& engine) {
  while (!engine.idle()) {
    engine.run_until(std::max(engine.next_time(), engine.now()) + PicoDuration::microseconds(1));
  }
}

}  // namespace

Result<TrafficOutcome> run_simulated_traffic(const sim::Scenario& scenario) {
  if (scenario.traffic.empty()) {
    return scenario.located("network", {ErrorCode::invalid_argument,
                                        "nothing happens in this network; add [[traffic]] or "
                                        "[job]"});
  }
  sim::Scenario bounded = scenario;
  const PicoInstant end = PicoInstant() + to_pico(scenario.duration);
  for (auto& traffic : bounded.traffic) traffic.end = std::min(traffic.end, end);
  auto made = sim::World::make(bounded);
  if (!made) return std::move(made).error();
  sim::World& world = **made;
  auto faults = parse_faults(world);
  if (!faults) return std::move(faults).error();
  const NetworkFaultPlayer links(world, std::move(faults).value());
  world.engine().run_until(end);
  std::vector<std::uint64_t> in_time;
  for (const auto& t : world.traffic()) in_time.push_back(t->delivered_bytes());
  drain(world.engine());

  TrafficOutcome outcome{.hosts = world.topology().hosts(),
                         .switches = world.topology().switches(),
                         .router = std::string(world.router().name()),
                         .packet_hops = world.network().packet_hops(),
                         .events = world.engine().events(),
                         .trace_hash = world.engine().trace_hash(),
                         .simulated = Duration(world.engine().now().ticks() / 1'000)};
  for (std::size_t i = 0; i < world.traffic().size(); ++i) {
    const sim::Traffic& t = *world.traffic()[i];
    const sim::TrafficOptions& o = bounded.traffic[i];
    const double seconds = (o.end - o.start).to_seconds();
    outcome.traffic.push_back(
        {.pattern = o.pattern,
         .messages = t.sent(),
         .delivered = t.delivered(),
         .bytes = t.delivered_bytes(),
         .goodput_bytes_per_s = seconds > 0 ? static_cast<double>(in_time[i]) / seconds : 0,
         .latency_median_ns = t.latencies().quantile_ns(0.5),
         .latency_p99_ns = t.latencies().quantile_ns(0.99)});
  }
  return outcome;
}

}  // namespace weft::stream
