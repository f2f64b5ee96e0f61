// SPDX-License-Identifier: Apache-2.0
#include "sim/routing/arithmetic.hpp"
#include "sim/routing/families.hpp"
#include "sim/routing/port_table.hpp"

namespace weft::sim {
namespace {

class TableRouter final : public Router {
 public:
  TableRouter(const Topology& topology, TablePolicy policy, PortTable table)
      : topology_(topology), policy_(policy), table_(std::move(table)) {}

  std::string_view name() const override {
    switch (policy_) {
      case TablePolicy::shortest:
        return "shortest";
      case TablePolicy::ecmp:
        return "ecmp";
      case TablePolicy::updown:
        break;
    }
    return "updown";
  }
  std::uint8_t channels() const override { return 1; }

  void start(RouteState& state, std::uint32_t source, std::uint32_t destination, std::uint64_t flow,
             Rng&) const override {
    state = {.source = source,
             .destination = destination,
             .waypoint = flow_hash(source, destination, flow)};
  }

  Hop next(Vertex at, PortNumber, RouteState& state, const PortLoad&, Rng&) const override {
    return {.port = port_of(at, state)};
  }

  KnownHop foresee(Vertex at, const RouteState& state) const override {
    return Hop{.port = port_of(at, state)};
  }

  void choices(Vertex at, PortNumber, const RouteState& state,
               std::vector<Choice>& out) const override {
    const auto ports = table_.ports(topology_.switch_index(at), state.destination);
    if (policy_ == TablePolicy::ecmp) {
      for (const PortNumber port : ports) out.push_back({.hop = {.port = port}, .after = state});
    } else {
      out.push_back({.hop = {.port = ports[state.destination % ports.size()]}, .after = state});
    }
  }

 private:
  PortNumber port_of(Vertex at, const RouteState& state) const {
    const auto ports = table_.ports(topology_.switch_index(at), state.destination);
    if (ports.size() == 1) return ports.front();
    const auto count = static_cast<std::uint32_t>(ports.size());
    if (policy_ != TablePolicy::ecmp) return ports[state.destination % count];
    return ports[hashed_choice(state.waypoint, at.value(), count)];
  }

  const Topology& topology_;
  TablePolicy policy_;
  PortTable table_;
};

}  // namespace

Result<std::unique_ptr<Router>> make_table_router(const Topology& topology, TablePolicy policy) {
  auto table =
      policy == TablePolicy::updown ? PortTable::updown(topology) : PortTable::shortest(topology);
  if (!table) return std::move(table).error();
  return std::unique_ptr<Router>(
      std::make_unique<TableRouter>(topology, policy, std::move(*table)));
}

}  // namespace weft::sim
