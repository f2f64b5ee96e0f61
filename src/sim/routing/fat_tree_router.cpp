// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "sim/routing/arithmetic.hpp"
#include "sim/routing/families.hpp"

namespace weft::sim {
namespace {

constexpr std::size_t most_levels = 3;

/// The hosts below a switch, and the first of its ports that lead up.
struct TreeSwitch {
  std::uint32_t first_host = 0;
  std::uint32_t hosts = 0;
  std::uint16_t first_down = 0;  // the number that its first port would have above all hosts
  std::uint16_t first_up = 0;
  std::uint16_t level = 0;
  std::uint16_t cables = 1;  // parallel ones, to each switch below
};

/// The tree, as all its routers know it.
class Tree {
 public:
  explicit Tree(const Topology& topology) : topology_(topology) {
    const auto& shape = std::get<FatTreeShape>(topology.shape());
    const std::uint32_t in_pod = shape.hosts_per_leaf * shape.leaves_per_pod;
    cables_ = static_cast<std::uint16_t>(shape.cables);
    highest_ = shape.middle_ups > 0 ? 2 : 1;
    width_ = {shape.leaf_ups, shape.middle_ups, 0};
    below_ = {Divisor(1), Divisor(shape.hosts_per_leaf), Divisor(in_pod)};
    digit_weight_ = {Divisor(1), Divisor(std::max(1u, shape.leaf_ups)), Divisor(1)};
    digit_ = {Divisor(std::max(1u, shape.leaf_ups)), Divisor(std::max(1u, shape.middle_ups)),
              Divisor(1)};
    for (std::uint32_t leaf = 0; leaf < shape.leaves; ++leaf) {
      add(0, leaf * shape.hosts_per_leaf, shape.hosts_per_leaf);
    }
    for (std::uint32_t middle = 0; middle < shape.middles; ++middle) {
      add(1, middle / (shape.leaf_ups / (highest_ == 1 ? shape.cables : 1)) * in_pod, in_pod);
    }
    for (std::uint32_t top = 0; top < shape.tops; ++top) add(2, 0, topology.hosts());
  }

  /// The number of levels that have switches.
  std::size_t levels() const { return switches_.back().level + std::size_t{1}; }
  /// A switch of the level; there is one.
  const TreeSwitch& any_of(std::uint16_t level) const {
    return *std::ranges::find(switches_, level, &TreeSwitch::level);
  }
  const TreeSwitch& at(Vertex v) const { return switches_[topology_.switch_index(v)]; }
  /// The number of the destination among the hosts below; not below when ≥ `here.hosts`.
  static std::uint32_t offset(const TreeSwitch& here, std::uint32_t destination) {
    return destination - here.first_host;
  }
  /// The first of the parallel cables down to the destination.
  PortNumber down(const TreeSwitch& here, std::uint32_t offset) const {
    return PortNumber(
        static_cast<std::uint16_t>(below_[here.level].quotient(offset) * here.cables));
  }
  /// Returns the number of the parallel cable down, which is that of the cable up.
  std::uint32_t parallel(const TreeSwitch& here, std::uint32_t destination) const {
    const std::size_t below = std::max<std::size_t>(here.level, 1) - 1;
    return digit_[below].remainder(digit_weight_[below].quotient(destination)) % here.cables;
  }
  std::uint32_t ups(const TreeSwitch& here) const { return width_[here.level]; }
  /// D-mod-k: the destination's digit at this level.
  std::uint32_t digit(const TreeSwitch& here, std::uint32_t destination) const {
    return digit_[here.level].remainder(digit_weight_[here.level].quotient(destination));
  }

 private:
  void add(std::uint16_t level, std::uint32_t first_host, std::uint32_t most) {
    const Vertex v = topology_.switch_at(static_cast<std::uint32_t>(switches_.size()));
    TreeSwitch made{.first_host = first_host,
                    .hosts = std::min(most, topology_.hosts() - first_host),
                    .first_up = static_cast<std::uint16_t>(topology_.ports(v) - width_[level]),
                    .level = level,
                    .cables = level == highest_ ? cables_ : std::uint16_t{1}};
    made.first_down = down(made, first_host).value();
    switches_.push_back(made);
  }

  const Topology& topology_;
  std::uint16_t cables_ = 1;
  std::uint16_t highest_ = 1;                       // level
  std::array<std::uint32_t, most_levels> width_{};  // ports up
  std::array<Divisor, most_levels> below_;          // hosts below a port down
  std::array<Divisor, most_levels> digit_weight_;
  std::array<Divisor, most_levels> digit_;
  std::vector<TreeSwitch> switches_;
};

/// Ports side by side that lead to the destination alike: all those up, or parallel ones down.
struct Ports {
  std::uint16_t first = 0;
  std::uint32_t count = 0;
  bool down = false;
  PortNumber at(std::uint32_t number) const {
    return PortNumber(static_cast<std::uint16_t>(first + number));
  }
};

struct DestinationDigit {
  static constexpr std::string_view name = "d-mod-k";
  static constexpr bool hashes_flows = false;
  static constexpr bool one_way = true;
  static constexpr bool looks_at_load = false;
  static std::uint32_t choose(const Tree& tree, const TreeSwitch& here, Vertex,
                              const RouteState& state, const Ports& ports) {
    return ports.down ? tree.parallel(here, state.destination)
                      : tree.digit(here, state.destination);
  }
};

struct FlowHash {
  static constexpr std::string_view name = "ecmp";
  static constexpr bool hashes_flows = true;
  static constexpr bool one_way = false;
  static constexpr bool looks_at_load = false;
  static std::uint32_t choose(const Tree&, const TreeSwitch&, Vertex at, const RouteState& state,
                              const Ports& ports) {
    return hashed_choice(state.waypoint, at.value(), ports.count);
  }
};

struct LeastQueued {
  static constexpr std::string_view name = "adaptive";
  static constexpr bool hashes_flows = false;
  static constexpr bool one_way = false;
  static constexpr bool looks_at_load = true;
  static std::uint32_t choose(const PortLoad& load, Rng& rng, const Ports& ports) {
    const auto queued = [&](std::uint32_t number) { return load.ahead(ports.at(number)); };
    std::uint64_t least = queued(0);
    std::uint32_t ties = 1;
    for (std::uint32_t number = 1; number < ports.count; ++number) {
      const std::uint64_t bytes = queued(number);
      ties = bytes < least ? 1 : ties + (bytes == least ? 1 : 0);
      least = std::min(least, bytes);
    }
    auto skip = ties == 1 ? 0 : static_cast<std::uint32_t>(rng.below(ties));
    for (std::uint32_t number = 0;; ++number) {
      if (queued(number) == least && skip-- == 0) return number;
    }
  }
};

template <class Policy>
class FatTreeRouter final : public Router {
 public:
  explicit FatTreeRouter(const Topology& topology) : tree_(topology), hosts_(topology.hosts()) {
    if (Policy::one_way && tree_.levels() * hosts_ <= most_tabled) tabulate();
  }

  std::string_view name() const override { return Policy::name; }
  std::uint8_t channels() const override { return 1; }

  void start(RouteState& state, std::uint32_t source, std::uint32_t destination, std::uint64_t flow,
             Rng&) const override {
    state = {.source = source, .destination = destination};
    if constexpr (Policy::hashes_flows) state.waypoint = flow_hash(source, destination, flow);
  }

  Hop next(Vertex at, PortNumber, RouteState& state, const PortLoad& load,
           Rng& rng) const override {
    const TreeSwitch& here = tree_.at(at);
    const std::uint32_t offset = Tree::offset(here, state.destination);
    const Ports ports = ports_of(here, offset);
    if (ports.count == 1) return {.port = ports.at(0)};
    if constexpr (Policy::looks_at_load) {
      return {.port = ports.at(Policy::choose(load, rng, ports))};
    } else {
      return {.port = ports.at(Policy::choose(tree_, here, at, state, ports))};
    }
  }

  KnownHop foresee(Vertex at, const RouteState& state) const override {
    if constexpr (Policy::one_way) {
      if (!ways_.empty()) return tabled(tree_.at(at), state.destination);
    }
    return computed(at, state);
  }

  void choices(Vertex at, PortNumber, const RouteState& state,
               std::vector<Choice>& out) const override {
    const TreeSwitch& here = tree_.at(at);
    const std::uint32_t offset = Tree::offset(here, state.destination);
    const Ports ports = ports_of(here, offset);
    const std::uint32_t digit =
        ports.down ? tree_.parallel(here, state.destination) : tree_.digit(here, state.destination);
    for (std::uint32_t number = 0; number < ports.count; ++number) {
      if (Policy::one_way && number != digit) continue;
      out.push_back({.hop = {.port = ports.at(number)}, .after = state});
    }
  }

 private:
  /// What `foresee` returns.
  KnownHop computed(Vertex at, const RouteState& state) const {
    const TreeSwitch& here = tree_.at(at);
    const Ports ports = ports_of(here, Tree::offset(here, state.destination));
    if (ports.count == 1) return Hop{.port = ports.at(0)};
    if constexpr (Policy::looks_at_load) {
      return {};
    } else {
      return Hop{.port = ports.at(Policy::choose(tree_, here, at, state, ports))};
    }
  }

  Ports ports_of(const TreeSwitch& here, std::uint32_t offset) const {
    if (offset >= here.hosts) return {.first = here.first_up, .count = tree_.ups(here)};
    return {.first = tree_.down(here, offset).value(), .count = here.cables, .down = true};
  }

  /// The same from the table.
  KnownHop tabled(const TreeSwitch& here, std::uint32_t destination) const {
    const Way& way = ways_[here.level * hosts_ + destination];
    const bool is_below = Tree::offset(here, destination) < here.hosts;
    return Hop{.port = PortNumber(static_cast<std::uint16_t>(is_below ? way.down - here.first_down
                                                                      : way.up + here.first_up))};
  }

  void tabulate() {
    ways_.reserve(tree_.levels() * hosts_);
    for (std::uint16_t level = 0; level < tree_.levels(); ++level) {
      const TreeSwitch& like = tree_.any_of(level);
      for (std::uint32_t host = 0; host < hosts_; ++host) {
        const std::uint32_t down =
            tree_.down(like, host).value() + (like.cables > 1 ? tree_.parallel(like, host) : 0);
        ways_.push_back({.up = static_cast<std::uint16_t>(tree_.digit(like, host)),
                         .down = static_cast<std::uint16_t>(down)});
      }
    }
  }

  /// 32 KiB: a larger table would take the place of other records in the processor's first cache.
  static constexpr std::size_t most_tabled = 8192;

  /// Where a packet for a host goes at all switches of a level: the number of its port among those
  /// that lead up, and that of its port down if the switch were above all hosts.
  struct Way {
    std::uint16_t up = 0;
    std::uint16_t down = 0;
  };

  Tree tree_;
  std::uint32_t hosts_;
  std::vector<Way> ways_;  // to foresee, by level and destination; empty: hops are computed
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
