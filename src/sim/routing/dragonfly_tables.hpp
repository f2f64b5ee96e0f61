// SPDX-License-Identifier: Apache-2.0
// The tables of a dragonfly's routers: where each router and host is, and for each router the ports
// on shortest paths to every other group.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/topology/topology.hpp"

namespace weft::sim {

struct DragonflyRouterInfo {
  std::uint32_t group = 0;
  std::uint16_t chassis = 0;
  std::uint16_t slot = 0;
  std::uint16_t hosts = 0;         ///< their ports come first, then those to the own chassis
  std::uint16_t first_across = 0;  ///< first of the ports to other chassis
  std::uint16_t first_global = 0;  ///< first of the ports to other groups
};

struct DragonflyHostInfo {
  std::uint32_t router = 0;
  std::uint16_t group = 0;
  std::uint16_t port = 0;  ///< of the router, to the host
};

/// Immutable after construction, so any thread may read it. It takes a few bytes per pair of router
/// and group.
class DragonflyTables {
 public:
  explicit DragonflyTables(const Topology& topology);

  const DragonflyShape& shape() const { return shape_; }
  const DragonflyRouterInfo& router(std::uint32_t index) const { return routers_[index]; }
  const DragonflyHostInfo& host(std::uint32_t host) const { return hosts_[host]; }

  /// Returns the ports that lead from a router towards a group that it is not in: its own cables to
  /// that group if it has any, else the ports to the nearest routers that have one.
  std::span<const PortNumber> towards_group(std::uint32_t router, std::uint32_t group) const {
    const std::size_t entry = std::size_t{router} * shape_.groups + group;
    return {exits_.data() + first_exit_[entry], first_exit_[entry + 1] - first_exit_[entry]};
  }
  /// Consecutive ports that lead to the same place.
  struct Ports {
    std::uint16_t first = 0;
    std::uint16_t count = 1;
  };
  /// Returns the ports of the first hop to another router of the same group. A path of two hops
  /// stays in its chassis at the first one.
  Ports towards_router(std::uint32_t from, std::uint32_t to) const {
    const DragonflyRouterInfo& a = routers_[from];
    const DragonflyRouterInfo& b = routers_[to];
    if (a.slot != b.slot) {
      return {.first = static_cast<std::uint16_t>(a.hosts + b.slot - (b.slot > a.slot ? 1 : 0))};
    }
    const auto cables = static_cast<std::uint16_t>(shape_.chassis_cables);
    const int chassis = b.chassis - (b.chassis > a.chassis ? 1 : 0);
    return {.first = static_cast<std::uint16_t>(a.first_across + chassis * cables),
            .count = cables};
  }
  /// Returns the number of hops between two routers of a group: 0, 1 or 2.
  std::uint32_t hops_within(std::uint32_t from, std::uint32_t to) const {
    const DragonflyRouterInfo& a = routers_[from];
    const DragonflyRouterInfo& b = routers_[to];
    return (a.slot != b.slot ? 1 : 0) + (a.chassis != b.chassis ? 1 : 0);
  }
  /// Returns the number of hops from a router over the nearest cable into another group, that cable
  /// included; 0 for its own group.
  std::uint32_t hops_into_group(std::uint32_t router, std::uint32_t group) const {
    return exit_hops_[std::size_t{router} * shape_.groups + group];
  }
  /// Returns the most hops between two routers of a group.
  std::uint32_t group_diameter() const {
    return (shape_.slots > 1 ? 1 : 0) + (shape_.chassis > 1 ? 1 : 0);
  }

 private:
  struct OwnCables;
  void place(const Topology& topology);
  void find_exits(const Topology& topology);
  void find_exits(const OwnCables& own, std::uint32_t router, std::uint32_t group);
  void add_exits(Ports ports) {
    for (std::uint16_t i = 0; i < ports.count; ++i) {
      exits_.emplace_back(static_cast<std::uint16_t>(ports.first + i));
    }
  }

  DragonflyShape shape_;
  std::vector<DragonflyRouterInfo> routers_;
  std::vector<DragonflyHostInfo> hosts_;
  std::vector<std::uint32_t> first_exit_;  // per router and group
  std::vector<std::uint8_t> exit_hops_;
  std::vector<PortNumber> exits_;
};

}  // namespace weft::sim
