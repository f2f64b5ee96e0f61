// SPDX-License-Identifier: Apache-2.0
#include "sim/topology/topology.hpp"

#include <fmt/format.h>

#include <limits>

#include "base/check.hpp"
#include "base/make_error.hpp"

namespace weft::sim {
namespace {

constexpr std::uint32_t most_ports = std::numeric_limits<std::uint16_t>::max();

}  // namespace

Result<Topology> Topology::make(std::string name, std::uint32_t hosts, std::uint32_t switches) {
  constexpr std::uint64_t most_vertices = 1ULL << 31;
  if (hosts == 0) {
    return invalid("topology '{}' has no hosts: give it at least one", name);
  }
  if (std::uint64_t{hosts} + switches > most_vertices) {
    return invalid("topology '{}': {} hosts and {} switches are more than {} in all; use fewer",
                   name, hosts, switches, most_vertices);
  }
  Topology made;
  made.name_ = std::move(name);
  made.hosts_ = hosts;
  made.switches_ = switches;
  made.degree_.resize(made.vertices());
  return made;
}

void Topology::connect(Vertex a, Vertex b, CableKind kind) {
  WEFT_CHECK(first_link_.empty(), "the topology is finished");
  WEFT_CHECK(a.value() < vertices() && b.value() < vertices() && a != b);
  // Beyond 65,535 the numbers wrap; finish() refuses such a vertex by its degree.
  const PortNumber at_a(static_cast<std::uint16_t>(degree_[a.value()]++));
  const PortNumber at_b(static_cast<std::uint16_t>(degree_[b.value()]++));
  cables_.push_back({.a = {a, at_a}, .b = {b, at_b}, .kind = kind});
}

Result<void> Topology::finish() {
  WEFT_CHECK(first_link_.empty(), "the topology is finished");
  for (std::uint32_t v = 0; v < vertices(); ++v) {
    if (v < hosts_ && degree_[v] != 1) {
      return invalid("topology '{}': {} has {} cables; a host has exactly one", name_,
                     label(Vertex(v)), degree_[v]);
    }
    if (degree_[v] > most_ports) {
      return invalid("topology '{}': {} has {} ports; at most {} are possible, use more switches",
                     name_, label(Vertex(v)), degree_[v], most_ports);
    }
  }
  first_link_.resize(std::size_t{vertices()} + 1);
  for (std::uint32_t v = 0; v < vertices(); ++v) first_link_[v + 1] = first_link_[v] + degree_[v];
  degree_ = {};
  cables_.shrink_to_fit();
  own_.resize(first_link_.back());
  peers_.resize(first_link_.back());
  kinds_.resize(first_link_.back());
  for (const Cable& cable : cables_) {
    const std::uint32_t from_a = link(cable.a).value();
    const std::uint32_t from_b = link(cable.b).value();
    own_[from_a] = peers_[from_b] = cable.a;
    own_[from_b] = peers_[from_a] = cable.b;
    kinds_[from_a] = kinds_[from_b] = cable.kind;
  }
  if (const std::string lost = first_unreached(); !lost.empty()) {
    return invalid("topology '{}': no cables lead from {} to {}; connect them", name_,
                   label(host(0)), lost);
  }
  return {};
}

/// The label of a host that host 0 cannot reach; empty when it reaches all.
std::string Topology::first_unreached() const {
  std::vector<bool> seen(vertices());
  std::vector<Vertex> open{host(0)};
  seen[0] = true;
  while (!open.empty()) {
    const Vertex v = open.back();
    open.pop_back();
    for (std::uint32_t l = first_link_[v.value()]; l < first_link_[v.value() + 1]; ++l) {
      const Vertex next = peers_[l].vertex;
      if (seen[next.value()]) continue;
      seen[next.value()] = true;
      open.push_back(next);
    }
  }
  for (std::uint32_t h = 0; h < hosts_; ++h) {
    if (!seen[h]) return label(host(h));
  }
  return {};
}

std::string Topology::label(Vertex v) const {
  if (v.value() < labels_.size() && !labels_[v.value()].empty()) return labels_[v.value()];
  return is_host(v) ? fmt::format("host {}", v.value()) : fmt::format("switch {}", switch_index(v));
}

void Topology::set_label(Vertex v, std::string label) {
  WEFT_CHECK(v.value() < vertices());
  if (labels_.empty()) labels_.resize(vertices());
  labels_[v.value()] = std::move(label);
}

}  // namespace weft::sim
