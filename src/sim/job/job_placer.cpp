// SPDX-License-Identifier: Apache-2.0
#include "sim/job/job_placer.hpp"

#include <algorithm>
#include <numeric>

namespace weft::sim {

JobPlacer::JobPlacer(const World& world) : world_(world), free_(world.topology().hosts()) {
  std::iota(free_.begin(), free_.end(), 0u);
}

Result<std::vector<std::uint32_t>> JobPlacer::next(const std::optional<PlacementOptions>& own,
                                                   const std::string& key, std::uint32_t count) {
  const Scenario& scenario = world_.scenario();
  const PlacementOptions& placement = own ? *own : scenario.placement;
  auto hosts = place(placement, world_.topology(), free_, count);
  if (!hosts) {
    const bool is_file = placement.kind == PlacementKind::file;
    const std::string about = !is_file ? "network.topology"
                              : own    ? key + ".placement"
                                       : "placement.kind";
    return scenario.located(about, hosts.error());
  }
  std::erase_if(free_, [&](std::uint32_t host) {
    return std::find(hosts->begin(), hosts->end(), host) != hosts->end();
  });
  return hosts;
}

}  // namespace weft::sim
