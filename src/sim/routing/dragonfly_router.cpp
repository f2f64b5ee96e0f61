// SPDX-License-Identifier: Apache-2.0
// Channel classes: a packet's class on all cables within a group, and on the one out of it, is the
// number of groups that it left before (a waypoint within a group counts as leaving). Within a
// group it goes first within the chassis, then across. So each next cable is later in the order
// (class, then within the chassis, across, out), and no circle of waiting packets can close.
#include <algorithm>

#include "sim/routing/arithmetic.hpp"
#include "sim/routing/dragonfly_tables.hpp"
#include "sim/routing/families.hpp"

namespace weft::sim {
namespace {

/// RouteState::phase. RouteState::spare chooses among equal ports, by hash or at random.
enum Phase : std::uint8_t {
  undecided = 0,  // UGAL, at the source's router
  to_group = 1,   // waypoint is a group
  to_router = 2,  // waypoint is a router of this group
  to_destination = 3
};

/// Uniform among 0 … count−1 without the different `a` and `b`; count > 2.
std::uint32_t third(std::uint32_t count, std::uint32_t a, std::uint32_t b, Rng& rng) {
  auto drawn = static_cast<std::uint32_t>(rng.below(count - 2));
  if (drawn >= std::min(a, b)) ++drawn;
  if (drawn >= std::max(a, b)) ++drawn;
  return drawn;
}

class DragonflyRouter final : public Router {
 public:
  DragonflyRouter(const Topology& topology, DragonflyPolicy policy)
      : topology_(topology), tables_(topology), policy_(policy) {
    const DragonflyShape& shape = tables_.shape();
    const bool detours = policy != DragonflyPolicy::minimal;
    channels_ = shape.groups > 1 ? 2 : 1;
    if (detours && shape.routers_per_group() > 2) channels_ = 2;
    if (detours && shape.groups > 2) channels_ = 3;
  }

  std::string_view name() const override {
    switch (policy_) {
      case DragonflyPolicy::minimal:
        return "minimal";
      case DragonflyPolicy::valiant:
        return "valiant";
      case DragonflyPolicy::ugal:
        break;
    }
    return "ugal";
  }
  std::uint8_t channels() const override { return channels_; }

  void start(RouteState& state, std::uint32_t source, std::uint32_t destination, std::uint64_t flow,
             Rng& rng) const override {
    state = {.source = source, .destination = destination, .phase = to_destination};
    if (policy_ == DragonflyPolicy::minimal) {
      state.spare = static_cast<std::uint16_t>(flow_hash(source, destination, flow));
      return;
    }
    state.spare = static_cast<std::uint16_t>(rng.next());
    if (policy_ == DragonflyPolicy::ugal) {
      state.phase = undecided;
    } else {
      draw_detour(state, tables_.host(source).router, rng);
    }
  }

  Hop next(Vertex at, PortNumber in, RouteState& state, const PortLoad& load,
           Rng& rng) const override {
    const std::uint32_t here = topology_.switch_index(at);
    if (state.phase == undecided) decide(here, state, load, rng);
    const std::uint8_t channel = arrive(here, in, state);
    const Ports ports = ahead(here, state);
    const std::uint32_t chosen =
        ports.count == 1 ? 0 : hashed_choice(state.spare, here, ports.count);
    return leave(here, ports.at(chosen), channel, state);
  }

  void choices(Vertex at, PortNumber in, const RouteState& state,
               std::vector<Choice>& out) const override {
    const std::uint32_t here = topology_.switch_index(at);
    std::vector<RouteState> ways;
    if (state.phase == undecided) {
      ways.push_back(state);
      ways.back().phase = to_destination;
      add_detours(state, here, ways);
    } else {
      ways.push_back(state);
    }
    for (RouteState& way : ways) {
      const std::uint8_t channel = arrive(here, in, way);
      const Ports ports = ahead(here, way);
      for (std::uint32_t i = 0; i < ports.count; ++i) {
        RouteState after = way;
        const Hop hop = leave(here, ports.at(i), channel, after);
        out.push_back({.hop = hop, .after = after});
      }
    }
  }

  void starts(std::uint32_t source, std::uint32_t destination,
              std::vector<RouteState>& out) const override {
    RouteState state{.source = source, .destination = destination, .phase = to_destination};
    if (policy_ == DragonflyPolicy::ugal) state.phase = undecided;
    const std::size_t before = out.size();
    if (policy_ == DragonflyPolicy::valiant) {
      add_detours(state, tables_.host(source).router, out);
    }
    if (out.size() == before) out.push_back(state);
  }

 private:
  /// Equally good ports: consecutive ones, or those of a list.
  struct Ports {
    const PortNumber* list = nullptr;
    std::uint16_t first = 0;
    std::uint32_t count = 1;
    PortNumber at(std::uint32_t i) const {
      return list != nullptr ? list[i] : PortNumber(static_cast<std::uint16_t>(first + i));
    }
  };

  /// Returns whether there is a third group (or within a group a third router) to go by.
  bool can_detour(std::uint32_t from, std::uint32_t to) const {
    const DragonflyShape& shape = tables_.shape();
    if (tables_.router(from).group != tables_.router(to).group) return shape.groups > 2;
    return from != to && shape.routers_per_group() > 2;
  }

  /// Valiant's random waypoint, if there is one; else the state stays as it is.
  void draw_detour(RouteState& state, std::uint32_t from, Rng& rng) const {
    const std::uint32_t to = tables_.host(state.destination).router;
    if (!can_detour(from, to)) return;
    const std::uint32_t group = tables_.router(from).group;
    if (group != tables_.router(to).group) {
      state.phase = to_group;
      state.waypoint = third(tables_.shape().groups, group, tables_.router(to).group, rng);
      return;
    }
    const std::uint32_t size = tables_.shape().routers_per_group();
    const std::uint32_t first = group * size;
    state.phase = to_router;
    state.waypoint = first + third(size, from - first, to - first, rng);
  }

  /// All that `draw_detour` might draw.
  void add_detours(RouteState state, std::uint32_t from, std::vector<RouteState>& out) const {
    const std::uint32_t to = tables_.host(state.destination).router;
    if (!can_detour(from, to)) return;
    const std::uint32_t from_group = tables_.router(from).group;
    const std::uint32_t to_group_index = tables_.router(to).group;
    const bool within = from_group == to_group_index;
    const std::uint32_t size =
        within ? tables_.shape().routers_per_group() : tables_.shape().groups;
    state.phase = within ? to_router : to_group;
    for (std::uint32_t i = 0; i < size; ++i) {
      state.waypoint = within ? from_group * size + i : i;
      if (state.waypoint == (within ? from : from_group)) continue;
      if (state.waypoint == (within ? to : to_group_index)) continue;
      out.push_back(state);
    }
  }

  /// UGAL-L (Kim et al. 2008, section 4.2): queue times hops, of the minimal and one other way.
  void decide(std::uint32_t here, RouteState& state, const PortLoad& load, Rng& rng) const {
    state.phase = to_destination;
    RouteState detour = state;
    draw_detour(detour, here, rng);
    if (detour.phase == to_destination) return;
    const auto cost = [&](const RouteState& way) {
      const Ports ports = ahead(here, way);
      const std::uint32_t chosen =
          ports.count == 1 ? 0 : hashed_choice(way.spare, here, ports.count);
      return load.ahead(ports.at(chosen)) * hops(here, way);
    };
    if (cost(state) > cost(detour)) state = detour;
  }

  /// Hops from the source's router to the destination's, at most.
  std::uint32_t hops(std::uint32_t here, const RouteState& way) const {
    const DragonflyHostInfo& there = tables_.host(way.destination);
    const std::uint32_t within = tables_.group_diameter();
    if (way.phase == to_router) {
      return tables_.hops_within(here, way.waypoint) +
             tables_.hops_within(way.waypoint, there.router);
    }
    if (way.phase == to_group) {
      return tables_.hops_into_group(here, way.waypoint) + within + 1 + within;
    }
    if (tables_.router(here).group == there.group) return tables_.hops_within(here, there.router);
    return tables_.hops_into_group(here, there.group) + within;
  }

  /// Takes note of a waypoint that is reached. Yields the class within this group.
  std::uint8_t arrive(std::uint32_t here, PortNumber in, RouteState& state) const {
    const DragonflyRouterInfo& info = tables_.router(here);
    std::uint8_t channel = 0;
    if (in.value() >= info.first_global) {
      channel = static_cast<std::uint8_t>(state.channel + 1);
    } else if (in.value() >= info.hosts) {
      channel = state.channel;
    }
    if (state.phase == to_group && info.group == state.waypoint) {
      state.phase = to_destination;
    } else if (state.phase == to_router && here == state.waypoint) {
      state.phase = to_destination;
      ++channel;
    }
    return channel;
  }

  Ports ahead(std::uint32_t here, const RouteState& state) const {
    const DragonflyRouterInfo& info = tables_.router(here);
    if (state.phase == to_group) return list(here, state.waypoint);
    if (state.phase == to_router) return towards(here, state.waypoint);
    const DragonflyHostInfo& there = tables_.host(state.destination);
    if (there.group != info.group) return list(here, there.group);
    if (there.router == here) return {.first = there.port};
    return towards(here, there.router);
  }

  Ports list(std::uint32_t here, std::uint32_t group) const {
    const auto exits = tables_.towards_group(here, group);
    return {.list = exits.data(), .count = static_cast<std::uint32_t>(exits.size())};
  }
  Ports towards(std::uint32_t here, std::uint32_t router) const {
    const auto [first, count] = tables_.towards_router(here, router);
    return {.first = first, .count = count};
  }

  /// On a host's cable the class is 0.
  Hop leave(std::uint32_t here, PortNumber port, std::uint8_t channel, RouteState& state) const {
    state.channel = port.value() < tables_.router(here).hosts ? std::uint8_t{0} : channel;
    return {.port = port, .channel = state.channel};
  }

  const Topology& topology_;
  DragonflyTables tables_;
  DragonflyPolicy policy_;
  std::uint8_t channels_ = 1;
};

}  // namespace

std::unique_ptr<Router> make_dragonfly_router(const Topology& topology, DragonflyPolicy policy) {
  return std::make_unique<DragonflyRouter>(topology, policy);
}

}  // namespace weft::sim
