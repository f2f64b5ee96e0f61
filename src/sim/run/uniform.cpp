// SPDX-License-Identifier: Apache-2.0
#include "sim/run/uniform.hpp"

#include <sys/resource.h>

#include <memory>
#include <vector>

#include "sim/engine/agent.hpp"
#include "sim/routing/routers.hpp"
#include "sim/topology/builders.hpp"

namespace weft::sim {
namespace {

std::uint64_t resident_bytes_at_most() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

/// So many traffics share the load, each on a level of its own.
std::vector<std::unique_ptr<Traffic>> make_traffic(const UniformOptions& o, Network& network,
                                                   Agents& agents) {
  std::vector<std::uint32_t> hosts;
  for (std::uint32_t h = 0; h < network.topology().hosts(); ++h) hosts.push_back(h);
  const std::size_t levels = o.network.levels.size();
  std::vector<std::unique_ptr<Traffic>> all;
  for (std::size_t level = 0; level < levels; ++level) {
    const TrafficOptions traffic{.pattern = o.pattern,
                                 .load = o.load / static_cast<double>(levels),
                                 .message_bytes = o.packet_bytes,
                                 .level = static_cast<std::uint8_t>(level),
                                 .end = PicoInstant() + o.duration,
                                 .seed = o.seed * 16 + level};
    all.push_back(std::make_unique<Traffic>(traffic, hosts, network, agents));
  }
  return all;
}

}  // namespace

Result<UniformOutcome> run_uniform(const UniformOptions& o, Recording* recording) {
  auto topology = make_topology(o.topology);
  if (!topology) return std::move(topology).error();
  const std::string name = o.router.empty() ? std::string(default_router(*topology)) : o.router;
  auto router = make_router(name, *topology);
  if (!router) return std::move(router).error();
  if (auto good = check_network(o.network); !good) return std::move(good).error();
  const TrafficOptions sample{.load = o.load, .message_bytes = o.packet_bytes};
  if (auto good = Traffic::check(sample, topology->hosts()); !good) return std::move(good).error();

  Engine engine(topology->vertices());
  Agents agents(engine);
  Network network(*topology, **router, o.network, engine, o.seed);
  if (recording != nullptr) {
    recording->recorder = std::make_unique<Recorder>(network, name, recording->trace);
  }
  const auto traffic = make_traffic(o, network, agents);
  UniformOutcome outcome{
      .hosts = topology->hosts(), .switches = topology->switches(), .router = name};
  engine.run_until(PicoInstant() + o.duration);
  std::uint64_t in_time = 0;
  for (const auto& t : traffic) in_time += t->delivered_bytes();
  engine.run_until(PicoInstant::never());
  if (recording != nullptr) recording->recorder->finish(PicoInstant() + o.duration);
  LatencyHistogram latencies;
  for (const auto& t : traffic) {
    outcome.messages += t->sent();
    outcome.delivered += t->delivered();
    latencies.add(t->latencies());
  }
  outcome.packet_hops = network.packet_hops();
  outcome.events = engine.events();
  outcome.memory_bytes = resident_bytes_at_most();
  outcome.trace_hash = engine.trace_hash();
  outcome.goodput_of_links = static_cast<double>(in_time) /
                             (static_cast<double>(o.network.host_link.rate.bytes_per_second()) *
                              o.duration.to_seconds() * topology->hosts());
  outcome.latency_median_ns = latencies.quantile_ns(0.5);
  outcome.latency_p99_ns = latencies.quantile_ns(0.99);
  return outcome;
}

}  // namespace weft::sim
