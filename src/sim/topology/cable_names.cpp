// SPDX-License-Identifier: Apache-2.0
#include "sim/topology/cable_names.hpp"

#include <fmt/format.h>

#include "base/make_error.hpp"

namespace weft::sim {
namespace {

std::string name_of(const Topology& topology, Vertex v) {
  std::string name = topology.label(v);
  std::erase(name, ' ');
  return name;
}

}  // namespace

Result<Vertex> CableNames::vertex(std::string_view name) {
  if (by_name_.empty()) {
    for (std::uint32_t v = 0; v < topology_.vertices(); ++v) {
      by_name_.emplace(name_of(topology_, Vertex(v)), Vertex(v));
    }
  }
  if (const auto at = by_name_.find(std::string(name)); at != by_name_.end()) return at->second;
  const bool has_switches = topology_.switches() > 0;
  return invalid(
      "the network has no '{}'; its hosts are {} to {}{}", name,
      name_of(topology_, topology_.host(0)),
      name_of(topology_, topology_.host(topology_.hosts() - 1)),
      has_switches
          ? fmt::format(", its switches {} to {}", name_of(topology_, topology_.switch_at(0)),
                        name_of(topology_, topology_.switch_at(topology_.switches() - 1)))
          : "");
}

Result<std::vector<LinkId>> CableNames::find(std::string_view name) {
  const std::size_t dashes = name.find("--");
  const auto a = vertex(name.substr(0, dashes));
  if (!a) return a.error();
  std::vector<LinkId> links;
  const auto take = [&](LinkId link) {
    links.push_back(link);
    links.push_back(topology_.link(topology_.peer(link)));
  };
  if (dashes == std::string_view::npos) {
    for (std::uint16_t p = 0; p < topology_.ports(*a); ++p) {
      take(topology_.link({*a, PortNumber(p)}));
    }
    return links;
  }
  const auto b = vertex(name.substr(dashes + 2));
  if (!b) return b.error();
  std::string neighbours;
  for (std::uint16_t p = 0; p < topology_.ports(*a); ++p) {
    const LinkId link = topology_.link({*a, PortNumber(p)});
    const Vertex far = topology_.peer(link).vertex;
    if (far == *b) take(link);
    if (p < 4) neighbours += (p == 0 ? "" : ", ") + name_of(topology_, far);
    if (p == 4) neighbours += ", …";
  }
  if (links.empty()) {
    return invalid("no cable connects {} and {}; {} is connected to {}", name_of(topology_, *a),
                   name_of(topology_, *b), name_of(topology_, *a), neighbours);
  }
  return links;
}

}  // namespace weft::sim
