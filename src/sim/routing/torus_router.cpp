// SPDX-License-Identifier: Apache-2.0

#include "sim/routing/arithmetic.hpp"
#include "sim/routing/families.hpp"

namespace weft::sim {
namespace {

/// From this size on a packet may take two cables of a ring, so that packets could wait in a
/// circle.
constexpr std::uint32_t smallest_ring_with_dateline = 4;

/// `phase` is the dimension that the packet moves in, from 1; `waypoint` decides at half the way.
class TorusRouter final : public Router {
 public:
  explicit TorusRouter(const Topology& topology)
      : topology_(topology),
        hosts_per_switch_(std::get<TorusShape>(topology.shape()).hosts_per_switch),
        to_switch_(hosts_per_switch_) {
    const auto& sizes = std::get<TorusShape>(topology.shape()).sizes;
    std::uint32_t port = hosts_per_switch_;
    for (const std::uint32_t size : sizes) {
      dimensions_.push_back({.size = size, .first_port = static_cast<std::uint16_t>(port)});
      port += size > 2 ? 2 : size - 1;
      if (size >= smallest_ring_with_dateline) channels_ = 2;
    }
    coordinates_.reserve(std::size_t{topology.switches()} * sizes.size());
    for (std::uint32_t s = 0; s < topology.switches(); ++s) {
      std::uint32_t rest = s;
      for (const std::uint32_t size : sizes) {
        coordinates_.push_back(static_cast<std::uint16_t>(rest % size));
        rest /= size;
      }
    }
  }

  std::string_view name() const override { return "dimension-order"; }
  std::uint8_t channels() const override { return channels_; }

  void start(RouteState& state, std::uint32_t source, std::uint32_t destination, std::uint64_t,
             Rng&) const override {
    state = {.source = source,
             .destination = destination,
             .waypoint = flow_hash(source, destination, 0)};
  }

  Hop next(Vertex at, PortNumber, RouteState& state, const PortLoad&, Rng&) const override {
    const Way way = find(at, state.destination);
    if (way.dimension == dimensions_.size()) return deliver(state);
    const bool up = way.tie ? (state.waypoint >> way.dimension & 1) != 0 : way.up;
    return move(way, up, state);
  }

  void choices(Vertex at, PortNumber, const RouteState& state,
               std::vector<Choice>& out) const override {
    const Way way = find(at, state.destination);
    for (const bool up : {false, true}) {
      if (way.dimension != dimensions_.size() && !way.tie && up != way.up) continue;
      RouteState after = state;
      const Hop hop = way.dimension == dimensions_.size() ? deliver(after) : move(way, up, after);
      out.push_back({.hop = hop, .after = after});
      if (way.dimension == dimensions_.size()) return;
    }
  }

 private:
  struct Dimension {
    std::uint32_t size = 0;
    std::uint16_t first_port = 0;
  };
  /// The first dimension that the packet has to move in, or their number when it is there.
  struct Way {
    std::size_t dimension = 0;
    std::uint32_t coordinate = 0;
    bool up = false;
    bool tie = false;  // both directions are equally short
  };

  Way find(Vertex at, std::uint32_t destination) const {
    const std::size_t count = dimensions_.size();
    const std::uint16_t* here = &coordinates_[topology_.switch_index(at) * count];
    const std::uint16_t* there = &coordinates_[to_switch_.quotient(destination) * count];
    for (std::size_t d = 0; d < count; ++d) {
      if (here[d] == there[d]) continue;
      const std::uint32_t size = dimensions_[d].size;
      const std::uint32_t above =
          there[d] > here[d] ? there[d] - here[d] : there[d] + size - here[d];
      return {.dimension = d,
              .coordinate = here[d],
              .up = 2 * above <= size,
              .tie = 2 * above == size && size > 2};
    }
    return {.dimension = count};
  }

  Hop deliver(RouteState& state) const {
    state.channel = 0;
    return {.port =
                PortNumber(static_cast<std::uint16_t>(to_switch_.remainder(state.destination)))};
  }

  Hop move(const Way& way, bool up, RouteState& state) const {
    const auto [size, first_port] = dimensions_[way.dimension];
    const bool closes_ring = up ? way.coordinate + 1 == size : way.coordinate == 0;
    const auto phase = static_cast<std::uint8_t>(way.dimension + 1);
    const bool moved_before = state.phase == phase;
    const bool has_dateline = size >= smallest_ring_with_dateline;
    state.channel = has_dateline && (closes_ring || (moved_before && state.channel == 1)) ? 1 : 0;
    state.phase = phase;
    // Below comes before above, but at coordinate 0 (see TorusShape); a pair has one port.
    const bool second = size > 2 && up != (way.coordinate == 0);
    return {.port = PortNumber(static_cast<std::uint16_t>(first_port + (second ? 1 : 0))),
            .channel = state.channel};
  }

  const Topology& topology_;
  std::uint32_t hosts_per_switch_;
  Divisor to_switch_;
  std::vector<Dimension> dimensions_;
  std::vector<std::uint16_t> coordinates_;  // per switch, one per dimension
  std::uint8_t channels_ = 1;
};

}  // namespace

std::unique_ptr<Router> make_dimension_order(const Topology& topology) {
  return std::make_unique<TorusRouter>(topology);
}

}  // namespace weft::sim
