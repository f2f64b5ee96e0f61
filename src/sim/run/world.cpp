// SPDX-License-Identifier: Apache-2.0
#include "sim/run/world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/partition/partition.hpp"
#include "sim/routing/deadlock.hpp"
#include "sim/routing/routers.hpp"
#include "sim/topology/builders.hpp"

namespace weft::sim {
namespace {

/// With its header; retransmissions are cut as before. Nodes of jobs send packets of any size.
std::uint32_t smallest_packet(const Scenario& scenario, bool has_jobs) {
  const NetworkOptions& like = scenario.network;
  if (has_jobs) return 1 + like.packet_overhead;
  std::uint64_t least = like.mtu;
  for (const TrafficOptions& traffic : scenario.traffic) {
    const std::uint64_t rest = traffic.message_bytes % like.mtu;
    if (rest != 0) least = std::min(least, rest);
  }
  return static_cast<std::uint32_t>(least) + like.packet_overhead;
}

/// Of the traffics of seed 0: another one than the network's, whose random streams they would have.
constexpr std::uint64_t seeds_of_zero = std::uint64_t{1} << 62;

}  // namespace

Result<std::unique_ptr<World>> World::make(const Scenario& scenario, Exchange* exchange,
                                           PicoDuration jobs_talk_after) {
  auto world = prepare(scenario);
  if (exchange != nullptr) {
    const Result<void> good = world ? Result<void>() : world.error();
    const std::uint64_t read = world ? digest((*world)->topology_) : 0;
    auto agreed = agree(*exchange, good, read, "the topology's file");
    if (!agreed) return std::move(agreed).error();
  }
  if (world) (*world)->start(exchange, jobs_talk_after);
  return world;
}

Result<std::unique_ptr<World>> World::prepare(const Scenario& scenario) {
  if (auto good = check_scenario(scenario); !good) return scenario.located("", good.error());
  if (auto good = check_network(scenario.network); !good) {
    return scenario.located("network", good.error());
  }
  auto topology = make_topology(scenario.topology);
  if (!topology) return scenario.located("network.topology", topology.error());
  // The router refers to the topology at its final place.
  const std::string name =
      scenario.router.empty() ? std::string(default_router(*topology)) : scenario.router;
  for (std::size_t i = 0; i < scenario.traffic.size(); ++i) {
    auto good = Traffic::check(scenario.traffic[i], topology->hosts());
    if (!good) return scenario.located(fmt::format("traffic[{}]", i), good.error());
  }
  std::unique_ptr<World> world(new World(scenario, std::move(topology).value()));
  if (auto declared = world->declare_lossy(); !declared) return std::move(declared).error();
  auto router = make_router(name, world->topology_);
  if (!router) {
    return scenario.located(scenario.router.empty() ? "network.topology" : "network.router",
                            router.error());
  }
  world->router_ = std::move(router).value();
  if (auto good = refuse_deadlocks(world->topology_, *world->router_); !good) {
    return scenario.located(scenario.router.empty() ? "network.topology" : "network.router",
                            good.error());
  }
  return world;
}

World::World(const Scenario& scenario, Topology topology)
    : scenario_(scenario),
      topology_(std::move(topology)),
      cable_names_(topology_),
      engine_(topology_.vertices()),
      agents_(engine_) {}

void World::start(Exchange* exchange, PicoDuration jobs_talk_after) {
  const bool divided = exchange != nullptr && exchange->size() > 1;
  if (divided) {
    border_.emplace(partition(topology_, exchange->size()), exchange->rank(), exchange->size());
  }
  network_.emplace(topology_, *router_, scenario_.network, engine_, scenario_.seed,
                   divided ? &*border_ : nullptr);
  if (divided) {
    windows_.emplace(engine_, *network_, *exchange, *border_,
                     Guarantees{.smallest_packet = smallest_packet(
                                    scenario_, jobs_talk_after != PicoDuration::max()),
                                .lossy = scenario_.all_lossy || !scenario_.lossy.empty(),
                                .words_matter_after = jobs_talk_after});
  }
  std::vector<std::uint32_t> hosts(topology_.hosts());
  std::iota(hosts.begin(), hosts.end(), 0);
  for (const TrafficOptions& traffic : scenario_.traffic) {
    TrafficOptions own = traffic;
    own.seed = (scenario_.seed != 0 ? scenario_.seed * 64 : seeds_of_zero) + traffic_.size();
    traffic_.push_back(std::make_unique<Traffic>(own, hosts, *network_, agents_));
  }
  if (!scenario_.level_changes.empty()) level_changes_.emplace(*this);
}

void World::expect_rates_up_to(Bandwidth fastest) {
  if (windows_) windows_->expect_rates_up_to(fastest);
}

void World::run_until(PicoInstant end) {
  if (windows_) {
    windows_->run_until(end);
  } else {
    engine_.run_until(end);
  }
}

std::array<LinkId, 2> World::host_links(std::uint32_t host) const {
  const LinkId up = topology_.link({topology_.host(host), PortNumber(0)});
  return {up, topology_.link(topology_.peer(up))};
}

Result<void> World::declare_lossy() {
  if (scenario_.all_lossy) lossy_.assign(topology_.links(), true);
  if (scenario_.lossy.empty()) return {};
  lossy_.resize(topology_.links());
  for (std::size_t i = 0; i < scenario_.lossy.size(); ++i) {
    const auto links = cables(scenario_.lossy[i]);
    if (!links) return scenario_.located(fmt::format("network.lossy[{}]", i), links.error());
    for (const LinkId link : *links) lossy_[link.value()] = true;
  }
  return {};
}

bool World::are_lossy(std::span<const LinkId> links) const {
  return !lossy_.empty() && std::all_of(links.begin(), links.end(),
                                        [this](LinkId link) { return lossy_[link.value()]; });
}

void World::set_up(std::span<const LinkId> links, bool up) {
  for (const LinkId link : links) network_->set_up(link, up);
}

void World::set_rate(std::span<const LinkId> links, Bandwidth rate) {
  for (const LinkId link : links) {
    const Bandwidth usual = scenario_.network.link(topology_.kind(link)).rate;
    network_->set_rate(link, rate == Bandwidth{} ? usual : rate);
  }
}

void World::set_loss(std::span<const LinkId> links, std::uint32_t parts_per_million) {
  for (const LinkId link : links) network_->set_loss(link, parts_per_million);
}

void World::set_host_up(std::uint32_t host, bool up) {
  set_up(host_links(host), up);
}

void World::set_host_rate(std::uint32_t host, Bandwidth rate) {
  set_rate(host_links(host), rate);
}

void World::set_host_loss(std::uint32_t host, std::uint32_t parts_per_million) {
  set_loss(host_links(host), parts_per_million);
}

World::LevelChanges::LevelChanges(World& world) : world_(world) {
  const std::uint32_t agent = world.agents().add(*this);
  for (std::size_t i = 0; i < world.scenario().level_changes.size(); ++i) {
    const Duration at = world.scenario().level_changes[i].at;
    world.agents().set_shared_timer(agent, PicoInstant() + to_pico(at), 0, i);
  }
}

void World::LevelChanges::on_timer(std::uint16_t, std::uint64_t payload) {
  const LevelChange& change = world_.scenario().level_changes[payload];
  std::vector<LevelOptions> levels(world_.levels().begin(), world_.levels().end());
  LevelOptions& level = levels[change.level];
  level.priority = change.priority.value_or(level.priority);
  level.weight = change.weight.value_or(level.weight);
  world_.set_levels(levels);
}

}  // namespace weft::sim
