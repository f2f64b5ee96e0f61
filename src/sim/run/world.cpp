// SPDX-License-Identifier: Apache-2.0
#include "sim/run/world.hpp"

#include <fmt/format.h>

#include <numeric>
#include <utility>

#include "sim/routing/routers.hpp"
#include "sim/topology/builders.hpp"

namespace weft::sim {

Result<std::unique_ptr<World>> World::make(const Scenario& scenario) {
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
  auto router = make_router(name, world->topology_);
  if (!router) {
    return scenario.located(scenario.router.empty() ? "network.topology" : "network.router",
                            router.error());
  }
  world->start(std::move(router).value());
  return world;
}

World::World(const Scenario& scenario, Topology topology)
    : scenario_(scenario),
      topology_(std::move(topology)),
      engine_(topology_.vertices()),
      agents_(engine_) {}

void World::start(std::unique_ptr<Router> router) {
  router_ = std::move(router);
  network_.emplace(topology_, *router_, scenario_.network, engine_, scenario_.seed);
  std::vector<std::uint32_t> hosts(topology_.hosts());
  std::iota(hosts.begin(), hosts.end(), 0);
  for (const TrafficOptions& traffic : scenario_.traffic) {
    TrafficOptions own = traffic;
    own.seed = scenario_.seed * 64 + traffic_.size();
    traffic_.push_back(std::make_unique<Traffic>(own, hosts, *network_, agents_));
  }
}

std::array<LinkId, 2> World::host_links(std::uint32_t host) const {
  const LinkId up = topology_.link({topology_.host(host), PortNumber(0)});
  return {up, topology_.link(topology_.peer(up))};
}

void World::set_host_up(std::uint32_t host, bool up) {
  for (const LinkId link : host_links(host)) network_->set_up(link, up);
}

void World::set_host_rate(std::uint32_t host, Bandwidth rate) {
  for (const LinkId link : host_links(host)) {
    network_->set_rate(link, rate == Bandwidth{} ? scenario_.network.host_link.rate : rate);
  }
}

void World::set_host_loss(std::uint32_t host, std::uint32_t parts_per_million) {
  for (const LinkId link : host_links(host)) network_->set_loss(link, parts_per_million);
}

}  // namespace weft::sim
