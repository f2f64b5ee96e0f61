// SPDX-License-Identifier: Apache-2.0
#include "sim/run/uniform.hpp"

#include <sys/resource.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "sim/engine/agent.hpp"
#include "sim/partition/partition.hpp"
#include "sim/partition/windows.hpp"
#include "sim/routing/deadlock.hpp"
#include "sim/routing/routers.hpp"
#include "sim/run/stuck.hpp"
#include "sim/run/tally.hpp"
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

/// The parts of a run before anything is simulated.
struct Prepared {
  Topology topology;
  std::unique_ptr<Router> router;
};

Result<std::unique_ptr<Prepared>> prepare(const UniformOptions& o, const std::string& name) {
  auto topology = make_topology(o.topology);
  if (!topology) return std::move(topology).error();
  // The router refers to the topology at its final place.
  auto prepared = std::unique_ptr<Prepared>(new Prepared{std::move(topology).value(), nullptr});
  auto router = make_router(name.empty() ? std::string(default_router(prepared->topology)) : name,
                            prepared->topology);
  if (!router) return std::move(router).error();
  prepared->router = std::move(router).value();
  auto free = refuse_deadlocks(prepared->topology, *prepared->router);
  if (!free) return std::move(free).error();
  if (auto good = check_network(o.network); !good) return std::move(good).error();
  const TrafficOptions sample{.load = o.load, .message_bytes = o.packet_bytes};
  auto good = Traffic::check(sample, prepared->topology.hosts());
  if (!good) return std::move(good).error();
  return prepared;
}

/// Adds up the figures of the parts.
void add_up(Exchange& exchange, UniformOutcome& outcome, std::uint64_t& in_time,
            LatencyHistogram& latencies) {
  Tally tally;
  for (std::uint64_t* figure : {&outcome.messages, &outcome.delivered, &outcome.packet_hops,
                                &outcome.events, &outcome.memory_bytes, &outcome.trace_hash}) {
    tally.add(*figure);
  }
  tally.add(in_time);
  tally.add(latencies);
  tally.sum(exchange);
}

Result<void> agree_on(Exchange& exchange, const Result<std::unique_ptr<Prepared>>& prepared) {
  if (!prepared) return agree(exchange, prepared.error(), 0, "");
  return agree(exchange, {}, digest((*prepared)->topology), "the topology's file");
}

}  // namespace

Result<UniformOutcome> run_uniform(const UniformOptions& options, Recording* recording) {
  AloneExchange alone;
  return run_uniform(options, alone, recording);
}

Result<UniformOutcome> run_uniform(const UniformOptions& o, Exchange& exchange,
                                   Recording* recording, const Progress& progress) {
  WEFT_CHECK(recording == nullptr || exchange.size() == 1);
  const auto prepared = prepare(o, o.router);
  if (auto good = agree_on(exchange, prepared); !good) return std::move(good).error();
  const auto& [topology, router] = **prepared;

  Engine engine(topology.vertices());
  Agents agents(engine);
  Network network(topology, *router, o.network, engine, o.seed);
  if (recording != nullptr) {
    recording->recorder =
        std::make_unique<Recorder>(network, std::string(router->name()), recording->trace);
  }
  std::optional<Windows> windows;
  if (exchange.size() > 1) {
    const auto smallest = static_cast<std::uint32_t>(o.packet_bytes) + o.network.packet_overhead;
    windows.emplace(engine, network, exchange, partition(topology, exchange.size()),
                    Guarantees{.smallest_packet = smallest});
  }
  const auto run_until = [&](PicoInstant end) {
    return windows ? windows->run_until(end) : engine.run_until(end);
  };
  const auto traffic = make_traffic(o, network, agents);
  UniformOutcome outcome{.hosts = topology.hosts(),
                         .switches = topology.switches(),
                         .router = std::string(router->name())};
  run_in_steps(PicoInstant() + o.duration, exchange, progress, run_until);
  std::uint64_t in_time = 0;
  for (const auto& t : traffic) in_time += t->delivered_bytes();
  run_until(PicoInstant::never());
  if (recording != nullptr) recording->recorder->finish(PicoInstant() + o.duration);
  LatencyHistogram latencies;
  for (const auto& t : traffic) {
    outcome.messages += t->sent();
    outcome.delivered += t->delivered();
    latencies.add(t->latencies());
  }
  outcome.packet_hops = network.packet_hops();
  outcome.events = engine.events();
  outcome.memory_bytes = exchange.first_of_process() ? resident_bytes_at_most() : 0;
  outcome.trace_hash = engine.trace_hash();
  add_up(exchange, outcome, in_time, latencies);
  if (auto good = check_arrival(outcome.messages, outcome.delivered, 0); !good) {
    return std::move(good).error();
  }
  outcome.goodput_of_links = static_cast<double>(in_time) /
                             (static_cast<double>(o.network.host_link.rate.bytes_per_second()) *
                              o.duration.to_seconds() * topology.hosts());
  outcome.latency_median_ns = latencies.quantile_ns(0.5);
  outcome.latency_p99_ns = latencies.quantile_ns(0.99);
  return outcome;
}

}  // namespace weft::sim
