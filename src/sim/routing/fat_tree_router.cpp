// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <variant>

#include "sim/routing/arithmetic.hpp"
#include "sim/routing/families.hpp"

namespace weft::sim {
namespace {

constexpr std::size_t most_levels = 3;

/// Which hosts lie below a switch, and where its ports up begin.
struct TreeSwitch {
  std::uint32_t first_host = 0;
  std::uint32_t hosts = 0;
  std::uint16_t first_up = 0;
  std::uint16_t level = 0;
};

/// What all routers of a tree know.
class Tree {
 public:
  explicit Tree(const Topology& topology) : topology_(topology) {
    const auto& shape = std::get<FatTreeShape>(topology.shape());
    const std::uint32_t in_pod = shape.hosts_per_leaf * shape.leaves_per_pod;
    width_ = {shape.leaf_ups, shape.middle_ups, 0};
    below_ = {Divisor(1), Divisor(shape.hosts_per_leaf), Divisor(in_pod)};
    digit_weight_ = {Divisor(1), Divisor(std::max(1u, shape.leaf_ups)), Divisor(1)};
    digit_ = {Divisor(std::max(1u, shape.leaf_ups)), Divisor(std::max(1u, shape.middle_ups)),
              Divisor(1)};
    for (std::uint32_t leaf = 0; leaf < shape.leaves; ++leaf) {
      add(0, leaf * shape.hosts_per_leaf, shape.hosts_per_leaf);
    }
    for (std::uint32_t middle = 0; middle < shape.middles; ++middle) {
      add(1, middle / shape.leaf_ups * in_pod, in_pod);
    }
    for (std::uint32_t top = 0; top < shape.tops; ++top) add(2, 0, topology.hosts());
  }

  const TreeSwitch& at(Vertex v) const { return switches_[topology_.switch_index(v)]; }
  /// The number of the destination among the hosts below; not below when ≥ `here.hosts`.
  static std::uint32_t offset(const TreeSwitch& here, std::uint32_t destination) {
    return destination - here.first_host;
  }
  PortNumber down(const TreeSwitch& here, std::uint32_t offset) const {
    return PortNumber(static_cast<std::uint16_t>(below_[here.level].quotient(offset)));
  }
  std::uint32_t ups(const TreeSwitch& here) const { return width_[here.level]; }
  static PortNumber up(const TreeSwitch& here, std::uint32_t number) {
    return PortNumber(static_cast<std::uint16_t>(here.first_up + number));
  }
  /// D-mod-k: the destination's digit at this level.
  std::uint32_t digit(const TreeSwitch& here, std::uint32_t destination) const {
    return digit_[here.level].remainder(digit_weight_[here.level].quotient(destination));
  }

 private:
  void add(std::uint16_t level, std::uint32_t first_host, std::uint32_t most) {
    const Vertex v = topology_.switch_at(static_cast<std::uint32_t>(switches_.size()));
    switches_.push_back({.first_host = first_host,
                         .hosts = std::min(most, topology_.hosts() - first_host),
                         .first_up = static_cast<std::uint16_t>(topology_.ports(v) - width_[level]),
                         .level = level});
  }

  const Topology& topology_;
  std::array<std::uint32_t, most_levels> width_{};  // ports up
  std::array<Divisor, most_levels> below_;          // hosts below a port down
  std::array<Divisor, most_levels> digit_weight_;
  std::array<Divisor, most_levels> digit_;
  std::vector<TreeSwitch> switches_;
};

struct DestinationDigit {
  static constexpr std::string_view name = "d-mod-k";
  static constexpr bool one_way = true;
  static std::uint32_t choose(const Tree& tree, const TreeSwitch& here, Vertex, RouteState& state,
                              const PortLoad&, Rng&) {
    return tree.digit(here, state.destination);
  }
};

struct FlowHash {
  static constexpr std::string_view name = "ecmp";
  static constexpr bool one_way = false;
  static std::uint32_t choose(const Tree& tree, const TreeSwitch& here, Vertex at,
                              RouteState& state, const PortLoad&, Rng&) {
    return hashed_choice(state.waypoint, at.value(), tree.ups(here));
  }
};

struct LeastQueued {
  static constexpr std::string_view name = "adaptive";
  static constexpr bool one_way = false;
  static std::uint32_t choose(const Tree& tree, const TreeSwitch& here, Vertex, RouteState&,
                              const PortLoad& load, Rng& rng) {
    const std::uint32_t ups = tree.ups(here);
    const auto queued = [&](std::uint32_t up) { return load.ahead(Tree::up(here, up)); };
    std::uint64_t least = queued(0);
    std::uint32_t ties = 1;
    for (std::uint32_t up = 1; up < ups; ++up) {
      const std::uint64_t bytes = queued(up);
      ties = bytes < least ? 1 : ties + (bytes == least ? 1 : 0);
      least = std::min(least, bytes);
    }
    auto skip = ties == 1 ? 0 : static_cast<std::uint32_t>(rng.below(ties));
    for (std::uint32_t up = 0;; ++up) {
      if (queued(up) == least && skip-- == 0) return up;
    }
  }
};

template <class Policy>
class FatTreeRouter final : public Router {
 public:
  explicit FatTreeRouter(const Topology& topology) : tree_(topology) {}

  std::string_view name() const override { return Policy::name; }
  std::uint8_t channels() const override { return 1; }

  void start(RouteState& state, std::uint32_t source, std::uint32_t destination, std::uint64_t flow,
             Rng&) const override {
    state = {.source = source,
             .destination = destination,
             .waypoint = flow_hash(source, destination, flow)};
  }

  Hop next(Vertex at, PortNumber, RouteState& state, const PortLoad& load,
           Rng& rng) const override {
    const TreeSwitch& here = tree_.at(at);
    const std::uint32_t offset = Tree::offset(here, state.destination);
    if (offset < here.hosts) return {.port = tree_.down(here, offset)};
    return {.port = Tree::up(here, Policy::choose(tree_, here, at, state, load, rng))};
  }

  void choices(Vertex at, PortNumber, const RouteState& state,
               std::vector<Choice>& out) const override {
    const TreeSwitch& here = tree_.at(at);
    const std::uint32_t offset = Tree::offset(here, state.destination);
    if (offset < here.hosts) {
      out.push_back({.hop = {.port = tree_.down(here, offset)}, .after = state});
    } else if (Policy::one_way) {
      out.push_back(
          {.hop = {.port = Tree::up(here, tree_.digit(here, state.destination))}, .after = state});
    } else {
      for (std::uint32_t up = 0; up < tree_.ups(here); ++up) {
        out.push_back({.hop = {.port = Tree::up(here, up)}, .after = state});
      }
    }
  }

  void starts(std::uint32_t source, std::uint32_t destination,
              std::vector<RouteState>& out) const override {
    out.push_back({.source = source, .destination = destination});
  }

 private:
  Tree tree_;
};

}  // namespace

std::unique_ptr<Router> make_d_mod_k(const Topology& topology) {
  return std::make_unique<FatTreeRouter<DestinationDigit>>(topology);
}

std::unique_ptr<Router> make_tree_ecmp(const Topology& topology) {
  return std::make_unique<FatTreeRouter<FlowHash>>(topology);
}

std::unique_ptr<Router> make_tree_adaptive(const Topology& topology) {
  return std::make_unique<FatTreeRouter<LeastQueued>>(topology);
}

}  // namespace weft::sim
