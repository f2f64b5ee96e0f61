// SPDX-License-Identifier: Apache-2.0
// Follows packets through a topology as the network would, for tests of routers.
#pragma once

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "sim/routing/routers.hpp"
#include "sim/topology/builders.hpp"

namespace weft::sim {

inline Topology topology_of(std::string_view text) {
  auto topology = make_topology(text);
  EXPECT_TRUE(topology) << topology.error().message;
  return std::move(topology).value();
}

inline std::unique_ptr<Router> router_of(std::string_view name, const Topology& topology) {
  auto router = make_router(name, topology);
  EXPECT_TRUE(router) << router.error().message;
  return std::move(router).value();
}

struct Step {
  std::uint32_t at = 0;  // index of the switch
  std::uint16_t port = 0;
  std::uint8_t channel = 0;
  bool operator==(const Step&) const = default;
};

inline void PrintTo(const Step& step, std::ostream* out) {
  *out << "switch " << step.at << " port " << step.port << " class " << int{step.channel};
}

/// The switches on the way, with the ports taken. Fails the test when the packet does not arrive
/// within `most` hops. Each switch's queues hold random amounts, or nothing without `loaded`.
inline std::vector<Step> walk(const Topology& topology, const Router& router, std::uint32_t source,
                              std::uint32_t destination, std::uint64_t flow, Rng& rng,
                              std::size_t most = 64, bool loaded = false) {
  RouteState state;
  router.start(state, source, destination, flow, rng);
  PortRef at = topology.peer(topology.link({topology.host(source), PortNumber(0)}));
  std::vector<Step> steps;
  std::vector<std::uint32_t> queued;
  while (!topology.is_host(at.vertex)) {
    if (steps.size() == most) {
      ADD_FAILURE() << router.name() << " on " << topology.name() << ": " << source << " to "
                    << destination << " takes more than " << most << " switches";
      return steps;
    }
    queued.assign(topology.ports(at.vertex), 0);
    for (std::uint32_t& bytes : queued)
      bytes = loaded ? static_cast<std::uint32_t>(rng.below(4)) : 0;
    const Hop hop = router.next(at.vertex, at.port, state, PortLoad(queued), rng);
    EXPECT_LT(hop.port.value(), topology.ports(at.vertex));
    EXPECT_LT(hop.channel, router.channels());
    EXPECT_EQ(hop.channel, state.channel);
    steps.push_back({topology.switch_index(at.vertex), hop.port.value(), hop.channel});
    at = topology.peer(topology.link({at.vertex, hop.port}));
  }
  EXPECT_EQ(at.vertex.value(), destination);
  return steps;
}

}  // namespace weft::sim
