// SPDX-License-Identifier: Apache-2.0
#include "sim/routing/port_table.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/make_error.hpp"

namespace weft::sim {
namespace {

constexpr std::uint64_t most_pairs = 1u << 26;
constexpr std::uint32_t unreached = std::numeric_limits<std::uint32_t>::max();

/// The switches' cables among each other, side by side.
class SwitchGraph {
 public:
  struct Way {
    std::uint32_t to;
    PortNumber port;
  };
  explicit SwitchGraph(const Topology& topology) {
    first_.push_back(0);
    for (std::uint32_t s = 0; s < topology.switches(); ++s) {
      const Vertex v = topology.switch_at(s);
      for (std::uint32_t p = 0; p < topology.ports(v); ++p) {
        const PortNumber port(static_cast<std::uint16_t>(p));
        const Vertex far = topology.peer(topology.link({v, port})).vertex;
        if (!topology.is_host(far)) ways_.push_back({topology.switch_index(far), port});
      }
      first_.push_back(ways_.size());
    }
  }
  std::uint32_t size() const { return static_cast<std::uint32_t>(first_.size() - 1); }
  std::span<const Way> ways(std::uint32_t s) const {
    return {ways_.data() + first_[s], first_[s + 1] - first_[s]};
  }
  /// Hops from `root` along ways that `may(from, to)` allows.
  template <class May>
  void distances(std::uint32_t root, May may, std::vector<std::uint32_t>& hops,
                 std::vector<std::uint32_t>& queue) const {
    hops.assign(size(), unreached);
    queue.assign(1, root);
    hops[root] = 0;
    for (std::size_t i = 0; i < queue.size(); ++i) {
      for (const Way& way : ways(queue[i])) {
        if (hops[way.to] != unreached || !may(queue[i], way.to)) continue;
        hops[way.to] = hops[queue[i]] + 1;
        queue.push_back(way.to);
      }
    }
  }

 private:
  std::vector<std::size_t> first_;
  std::vector<Way> ways_;
};

constexpr auto any_way = [](std::uint32_t, std::uint32_t) { return true; };

}  // namespace

class PortTable::Builder {
 public:
  explicit Builder(const Topology& topology) : topology_(topology), graph_(topology) {
    std::vector<std::uint32_t> column(topology.switches(), unreached);
    for (std::uint32_t h = 0; h < topology.hosts(); ++h) {
      const PortRef far = topology.peer(topology.link({topology.host(h), PortNumber(0)}));
      if (topology.is_host(far.vertex)) {  // two hosts back to back: no switch asks
        table_.hosts_.push_back({.edge = unreached});
        continue;
      }
      const std::uint32_t edge = topology.switch_index(far.vertex);
      if (column[edge] == unreached) {
        column[edge] = static_cast<std::uint32_t>(edges_.size());
        edges_.push_back(edge);
      }
      table_.hosts_.push_back({.edge = edge, .column = column[edge], .port = far.port});
    }
    table_.edges_ = static_cast<std::uint32_t>(edges_.size());
  }

  Result<void> check() const {
    const std::uint64_t pairs = std::uint64_t{graph_.size()} * edges_.size();
    if (pairs <= most_pairs) return {};
    return make_error(ErrorCode::exhausted,
                      "topology '{}': tables for {} switches and {} edge switches are too large "
                      "(at most {} pairs); use a smaller topology",
                      topology_.name(), graph_.size(), edges_.size(), most_pairs);
  }

  /// `closer(from, to)` says whether a way is allowed at present: columns are made one by one.
  template <class Prepare, class Closer>
  PortTable build(Prepare prepare, Closer closer) {
    // Found by column, needed by switch.
    std::vector<std::vector<PortNumber>> found(edges_.size());
    std::vector<std::uint32_t> count(std::size_t{graph_.size()} * edges_.size());
    for (std::size_t e = 0; e < edges_.size(); ++e) {
      prepare(edges_[e]);
      for (std::uint32_t s = 0; s < graph_.size(); ++s) {
        for (const auto& way : graph_.ways(s)) {
          if (s == edges_[e] || !closer(s, way.to)) continue;
          found[e].push_back(way.port);
          ++count[s * edges_.size() + e];
        }
      }
    }
    table_.first_.push_back(0);
    std::vector<std::size_t> taken(edges_.size());
    for (std::size_t i = 0; i < count.size(); ++i) {
      const std::size_t e = i % edges_.size();
      for (std::uint32_t n = 0; n < count[i]; ++n) table_.ports_.push_back(found[e][taken[e]++]);
      table_.first_.push_back(static_cast<std::uint32_t>(table_.ports_.size()));
    }
    table_.ports_.shrink_to_fit();
    return std::move(table_);
  }

  const SwitchGraph& graph() const { return graph_; }

  /// Each switch's place in the order from the root on.
  std::vector<std::uint32_t> ranks() {
    std::vector<std::uint32_t> hops, queue;
    std::uint32_t root = 0;
    auto best = std::pair<std::uint32_t, std::uint64_t>(unreached, 0);
    for (std::uint32_t s = 0; s < graph_.size(); ++s) {
      graph_.distances(s, any_way, hops, queue);
      std::pair<std::uint32_t, std::uint64_t> far_and_sum{0, 0};
      for (const std::uint32_t edge : edges_) {
        far_and_sum.first = std::max(far_and_sum.first, hops[edge]);
        far_and_sum.second += hops[edge];
      }
      if (far_and_sum < best) {
        best = far_and_sum;
        root = s;
      }
    }
    graph_.distances(root, any_way, hops, queue);
    order_.resize(graph_.size());
    std::iota(order_.begin(), order_.end(), 0u);
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return hops[a] < hops[b]; });
    std::vector<std::uint32_t> rank(graph_.size());
    for (std::uint32_t i = 0; i < order_.size(); ++i) rank[order_[i]] = i;
    return rank;
  }
  /// The switches from the root on; after `ranks`.
  const std::vector<std::uint32_t>& order() const { return order_; }

 private:
  const Topology& topology_;
  SwitchGraph graph_;
  std::vector<std::uint32_t> edges_;
  std::vector<std::uint32_t> order_;
  PortTable table_;
};

Result<PortTable> PortTable::shortest(const Topology& topology) {
  Builder builder(topology);
  if (auto fits = builder.check(); !fits) return std::move(fits).error();
  std::vector<std::uint32_t> hops, queue;
  return builder.build(
      [&](std::uint32_t edge) { builder.graph().distances(edge, any_way, hops, queue); },
      [&](std::uint32_t from, std::uint32_t to) {
        return hops[from] != unreached && hops[to] + 1 == hops[from];
      });
}

Result<PortTable> PortTable::updown(const Topology& topology) {
  Builder builder(topology);
  if (auto fits = builder.check(); !fits) return std::move(fits).error();
  const std::vector<std::uint32_t> rank = builder.ranks();
  const auto is_up = [&](std::uint32_t from, std::uint32_t to) { return rank[to] < rank[from]; };
  // Hops by ways that only go down, and for switches without such a way, up to one that has.
  std::vector<std::uint32_t> down, hops, queue;
  const auto prepare = [&](std::uint32_t edge) {
    builder.graph().distances(edge, is_up, down, queue);
    hops = down;
    for (const std::uint32_t s : builder.order()) {
      if (down[s] != unreached) continue;
      for (const auto& way : builder.graph().ways(s)) {
        if (is_up(s, way.to) && hops[way.to] != unreached) {
          hops[s] = std::min(hops[s], hops[way.to] + 1);
        }
      }
    }
  };
  const auto closer = [&](std::uint32_t from, std::uint32_t to) {
    if (hops[from] == unreached) return false;
    if (down[from] == unreached) return is_up(from, to) && hops[to] + 1 == hops[from];
    return !is_up(from, to) && down[to] + 1 == down[from];
  };
  return builder.build(prepare, closer);
}

}  // namespace weft::sim
