// SPDX-License-Identifier: Apache-2.0
#include "sim/routing/dragonfly_tables.hpp"

#include "base/check.hpp"

namespace weft::sim {

/// Each router's global ports, by the group that they lead to.
struct DragonflyTables::OwnCables {
  std::uint32_t groups;
  std::vector<std::vector<std::pair<std::uint32_t, PortNumber>>> ports;  // per router
  std::vector<bool> leads;                                               // per router and group
  bool any(std::uint32_t router, std::uint32_t group) const {
    return leads[std::size_t{router} * groups + group];
  }
};

DragonflyTables::DragonflyTables(const Topology& topology)
    : shape_(std::get<DragonflyShape>(topology.shape())) {
  place(topology);
  find_exits(topology);
}

void DragonflyTables::place(const Topology& topology) {
  routers_.resize(topology.switches());
  hosts_.resize(topology.hosts());
  for (std::uint32_t h = 0; h < topology.hosts(); ++h) {
    const PortRef far = topology.peer(topology.link({topology.host(h), PortNumber(0)}));
    const std::uint32_t router = topology.switch_index(far.vertex);
    hosts_[h] = {.router = router,
                 .group = static_cast<std::uint16_t>(router / shape_.routers_per_group()),
                 .port = far.port.value()};
    ++routers_[router].hosts;
  }
  const std::uint32_t across = (shape_.chassis - 1) * shape_.chassis_cables;
  for (std::uint32_t r = 0; r < routers_.size(); ++r) {
    DragonflyRouterInfo& info = routers_[r];
    info.group = r / shape_.routers_per_group();
    info.chassis = static_cast<std::uint16_t>(r / shape_.slots % shape_.chassis);
    info.slot = static_cast<std::uint16_t>(r % shape_.slots);
    info.first_across = static_cast<std::uint16_t>(info.hosts + shape_.slots - 1);
    info.first_global = static_cast<std::uint16_t>(info.first_across + across);
  }
}

void DragonflyTables::find_exits(const Topology& topology) {
  OwnCables own{.groups = shape_.groups};
  own.ports.resize(routers_.size());
  own.leads.resize(routers_.size() * shape_.groups);
  for (std::uint32_t r = 0; r < routers_.size(); ++r) {
    const Vertex v = topology.switch_at(r);
    for (std::uint32_t p = routers_[r].first_global; p < topology.ports(v); ++p) {
      const PortNumber port(static_cast<std::uint16_t>(p));
      const Vertex far = topology.peer(topology.link({v, port})).vertex;
      const std::uint32_t group = topology.switch_index(far) / shape_.routers_per_group();
      own.ports[r].emplace_back(group, port);
      own.leads[std::size_t{r} * shape_.groups + group] = true;
    }
  }
  first_exit_.reserve(routers_.size() * shape_.groups + 1);
  first_exit_.push_back(0);
  for (std::uint32_t r = 0; r < routers_.size(); ++r) {
    for (std::uint32_t group = 0; group < shape_.groups; ++group) {
      find_exits(own, r, group);
      first_exit_.push_back(static_cast<std::uint32_t>(exits_.size()));
    }
  }
  exits_.shrink_to_fit();
}

/// The nearest routers with a cable to the group, in order of distance; see `towards_router` for
/// the order of hops. When there is none within one hop, the first hop of two goes within the
/// chassis, to a slot where another chassis has one: from there the second hop is the only shortest
/// one.
void DragonflyTables::find_exits(const OwnCables& own, std::uint32_t router, std::uint32_t group) {
  const DragonflyRouterInfo& here = routers_[router];
  if (here.group == group) {
    exit_hops_.push_back(0);
    return;
  }
  if (own.any(router, group)) {
    for (const auto& [leads_to, port] : own.ports[router]) {
      if (leads_to == group) exits_.push_back(port);
    }
    exit_hops_.push_back(1);
    return;
  }
  const std::uint32_t first = here.group * shape_.routers_per_group();
  const std::uint32_t end = first + shape_.routers_per_group();
  for (std::uint32_t hops = 1; hops <= 2; ++hops) {
    const std::size_t before = exits_.size();
    std::vector<bool> slot_listed(hops == 2 ? shape_.slots : 0);
    for (std::uint32_t other = first; other < end; ++other) {
      if (!own.any(other, group) || hops_within(router, other) != hops) continue;
      if (hops == 2 && slot_listed[routers_[other].slot]) continue;
      if (hops == 2) slot_listed[routers_[other].slot] = true;
      add_exits(towards_router(router, other));
    }
    if (exits_.size() == before) continue;
    exit_hops_.push_back(static_cast<std::uint8_t>(hops + 1));
    return;
  }
  WEFT_CHECK(false, "group {} has no cable to group {}", here.group, group);
}

}  // namespace weft::sim
