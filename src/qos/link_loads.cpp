// SPDX-License-Identifier: Apache-2.0
#include "qos/link_loads.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <utility>

namespace weft::qos {
namespace {

/// Returns how many cables each vertex is from the nearest host.
std::vector<std::uint32_t> heights_of(const sim::Topology& t) {
  std::vector<std::uint32_t> heights(t.vertices(), 0);
  std::vector<bool> seen(t.vertices(), false);
  std::vector<sim::Vertex> next;
  for (std::uint32_t h = 0; h < t.hosts(); ++h) {
    seen[t.host(h).value()] = true;
    next.push_back(t.host(h));
  }
  for (std::size_t i = 0; i < next.size(); ++i) {
    const sim::Vertex v = next[i];
    for (std::uint16_t p = 0; p < t.ports(v); ++p) {
      const sim::Vertex to = t.peer(t.link({v, sim::PortNumber(p)})).vertex;
      if (seen[to.value()]) continue;
      seen[to.value()] = true;
      heights[to.value()] = heights[v.value()] + 1;
      next.push_back(to);
    }
  }
  return heights;
}

std::string name_of(std::uint32_t from, std::uint32_t to) {
  if (from == 0) return "from hosts";
  if (to == 0) return "to hosts";
  return fmt::format("{} {} to {}", from == to ? "across" : from < to ? "up" : "down", from, to);
}

}  // namespace

NetworkLoads link_loads(const sim::Network& network, PicoDuration window) {
  const sim::Topology& t = network.topology();
  const std::vector<std::uint32_t> heights = heights_of(t);
  struct Sum {
    PlaceLoad load;
    double could = 0;
  };
  NetworkLoads loads;
  for (std::uint32_t v = 0; v < t.vertices(); ++v) {
    loads.vertices.push_back({.name = t.label(sim::Vertex(v)), .height = heights[v]});
  }
  // Upwards first, by height, then downwards from the top.
  std::map<std::pair<bool, std::int64_t>, Sum> places;
  const auto levels = static_cast<std::uint8_t>(network.options().levels.size());
  for (std::uint32_t l = 0; l < t.links(); ++l) {
    const sim::LinkId link(l);
    const std::uint32_t from = heights[t.port(link).vertex.value()];
    const std::uint32_t to = heights[t.peer(link).vertex.value()];
    const bool down = from > to;
    Sum& sum = places[{down, down ? -std::int64_t{from} : std::int64_t{from}}];
    sum.load.links = name_of(from, to);
    const double could =
        static_cast<double>(network.rate(link).bytes_per_second()) * window.to_seconds();
    sum.could += could;
    LinkLoad& own = loads.links.emplace_back(
        LinkLoad{.from = t.port(link).vertex.value(), .to = t.peer(link).vertex.value()});
    for (std::uint8_t level = 0; level < levels; ++level) {
      const auto bytes = static_cast<double>(network.counters(link, level).bytes);
      sum.load.by_level[level] += bytes;
      own.by_level[level] = bytes / could;
    }
  }
  for (auto& [place, sum] : places) {
    for (double& bytes : sum.load.by_level) bytes /= sum.could;
    loads.places.push_back(std::move(sum.load));
  }
  return loads;
}

}  // namespace weft::qos
