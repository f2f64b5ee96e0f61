// SPDX-License-Identifier: Apache-2.0
#include "sim/partition/partition.hpp"

#include <algorithm>
#include <set>

#include "base/check.hpp"

namespace weft::sim {
namespace {

constexpr std::uint32_t no_part = 0xffff'ffff;

/// Consecutive switches with hosts that had better stay together: so many of them, 1 when nothing
/// is known.
std::uint32_t switches_together(const Topology& topology) {
  if (const auto* tree = std::get_if<FatTreeShape>(&topology.shape())) return tree->leaves_per_pod;
  if (const auto* dragonfly = std::get_if<DragonflyShape>(&topology.shape())) {
    return dragonfly->routers_per_group();
  }
  return 1;
}

/// Vertices that hosts hang on, each with its number of hosts, ascending. Two hosts that are
/// connected to each other hang on the first.
struct Edge {
  std::uint32_t vertex = 0;
  std::uint32_t hosts = 0;
};
std::uint32_t edge_of(const Topology& topology, std::uint32_t host) {
  const Vertex v = topology.edge(host);
  return topology.is_host(v) ? std::min(host, v.value()) : v.value();
}
std::vector<Edge> edges_of(const Topology& topology) {
  std::vector<std::uint32_t> hosts(topology.vertices(), 0);
  for (std::uint32_t h = 0; h < topology.hosts(); ++h) ++hosts[edge_of(topology, h)];
  std::vector<Edge> edges;
  for (std::uint32_t v = 0; v < topology.vertices(); ++v) {
    if (hosts[v] > 0) edges.push_back({v, hosts[v]});
  }
  return edges;
}

/// The part in which the middle of a block of hosts lies, if hosts are cut into equal parts.
std::uint32_t part_of(std::uint64_t before, std::uint64_t hosts, std::uint64_t all,
                      std::uint32_t parts) {
  return static_cast<std::uint32_t>((2 * before + hosts) * parts / (2 * all));
}

/// Gives blocks of `together` edges to parts.
void place_edges(const Topology& topology, const std::vector<Edge>& edges, std::size_t together,
                 std::uint32_t parts, std::vector<std::uint32_t>& owners) {
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < edges.size(); i += together) {
    const std::size_t end = std::min(edges.size(), i + together);
    std::uint64_t hosts = 0;
    for (std::size_t k = i; k < end; ++k) hosts += edges[k].hosts;
    const std::uint32_t part = part_of(before, hosts, topology.hosts(), parts);
    for (std::size_t k = i; k < end; ++k) owners[edges[k].vertex] = part;
    before += hosts;
  }
  for (std::uint32_t h = 0; h < topology.hosts(); ++h) owners[h] = owners[edge_of(topology, h)];
}

/// Unplaced switches next to placed ones, ascending.
std::vector<std::uint32_t> next_layer(const Topology& topology,
                                      const std::vector<std::uint32_t>& owners) {
  std::vector<std::uint32_t> layer;
  for (std::uint32_t v = topology.hosts(); v < topology.vertices(); ++v) {
    if (owners[v] != no_part) continue;
    for (std::uint32_t p = 0; p < topology.ports(Vertex(v)); ++p) {
      const LinkId l = topology.link({Vertex(v), PortNumber(static_cast<std::uint16_t>(p))});
      if (owners[topology.peer(l).vertex.value()] == no_part) continue;
      layer.push_back(v);
      break;
    }
  }
  return layer;
}

void place_layer(const Topology& topology, const std::vector<std::uint32_t>& layer,
                 std::uint32_t parts, std::vector<std::uint32_t>& owners) {
  const auto share = static_cast<std::uint32_t>((layer.size() + parts - 1) / parts);
  std::vector<std::uint32_t> placed(parts, 0);
  std::vector<std::uint32_t> chosen;
  for (const std::uint32_t v : layer) {
    std::vector<std::uint32_t> cables(parts, 0);
    for (std::uint32_t p = 0; p < topology.ports(Vertex(v)); ++p) {
      const LinkId l = topology.link({Vertex(v), PortNumber(static_cast<std::uint16_t>(p))});
      const std::uint32_t owner = owners[topology.peer(l).vertex.value()];
      if (owner != no_part) ++cables[owner];
    }
    std::uint32_t best = no_part;
    for (std::uint32_t part = 0; part < parts; ++part) {
      if (placed[part] >= share) continue;
      if (best == no_part || cables[part] > cables[best] ||
          (cables[part] == cables[best] && placed[part] < placed[best])) {
        best = part;
      }
    }
    ++placed[best];
    chosen.push_back(best);
  }
  for (std::size_t i = 0; i < layer.size(); ++i) owners[layer[i]] = chosen[i];
}

}  // namespace

std::vector<std::uint32_t> partition(const Topology& topology, std::uint32_t parts) {
  WEFT_CHECK(parts > 0);
  std::vector<std::uint32_t> owners(topology.vertices(), no_part);
  const std::vector<Edge> edges = edges_of(topology);
  // Pods and groups stay whole when they can be dealt out evenly, or are many.
  std::size_t together = switches_together(topology);
  const std::size_t blocks = (edges.size() + together - 1) / together;
  if (blocks % parts != 0 && blocks < std::size_t{4} * parts) together = 1;
  place_edges(topology, edges, together, parts, owners);
  for (;;) {
    const std::vector<std::uint32_t> layer = next_layer(topology, owners);
    if (layer.empty()) break;
    place_layer(topology, layer, parts, owners);
  }
  // Switches that no host reaches.
  std::replace(owners.begin(), owners.end(), no_part, 0U);
  return owners;
}

std::vector<std::uint32_t> neighbours_of(const Topology& topology,
                                         const std::vector<std::uint32_t>& owners,
                                         std::uint32_t self) {
  std::set<std::uint32_t> found;
  for (const Cable& cable : topology.cables()) {
    const std::uint32_t a = owners[cable.a.vertex.value()];
    const std::uint32_t b = owners[cable.b.vertex.value()];
    if (a == self && b != self) found.insert(b);
    if (b == self && a != self) found.insert(a);
  }
  return {found.begin(), found.end()};
}

std::uint64_t digest(const Topology& topology) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, by words
  const auto add = [&hash](std::uint64_t word) { hash = (hash ^ word) * 0x100000001b3; };
  add(topology.hosts());
  add(topology.switches());
  for (const Cable& cable : topology.cables()) {
    for (const PortRef& end : {cable.a, cable.b}) {
      add(std::uint64_t{end.vertex.value()} << 16 | end.port.value());
    }
    add(static_cast<std::uint64_t>(cable.kind));
  }
  return hash;
}

}  // namespace weft::sim
