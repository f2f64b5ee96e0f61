// SPDX-License-Identifier: Apache-2.0
// Topology: hosts, switches and the cables between them, without behaviour. Builders make the usual
// ones (star, fat trees, dragonfly, torus) or read one from a file; routers and the network model
// look at the result.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/topology/shape.hpp"
#include "weft/ids.hpp"
#include "weft/result.hpp"

namespace weft::sim {

/// A host or a switch: hosts are 0 … hosts−1, switches follow.
using Vertex = StrongId<struct VertexTag, std::uint32_t>;
/// A port of one vertex, 0 … ports−1.
using PortNumber = StrongId<struct PortTag, std::uint16_t>;
/// A transmitter: one direction of one cable. All ports of all vertices, counted through.
using LinkId = StrongId<struct LinkTag, std::uint32_t>;

/// One end of a cable.
struct PortRef {
  Vertex vertex{};
  PortNumber port{};
  auto operator<=>(const PortRef&) const = default;
};

/// The kind of a cable, for its rate, latency and colour in reports.
enum class CableKind : std::uint8_t {
  host,    ///< between a host and its switch
  local,   ///< between switches nearby: a tree's or torus's links, a dragonfly group's
  global,  ///< between dragonfly groups
};

struct Cable {
  PortRef a, b;
  CableKind kind = CableKind::local;
};

/// Immutable once built. Ports of a vertex are numbered in the order in which its cables were
/// connected. Copyable; not for use by several threads while it is built.
class Topology {
 public:
  /// Errors: no hosts; more than 2^31 vertices.
  static Result<Topology> make(std::string name, std::uint32_t hosts, std::uint32_t switches);

  /// Adds a cable between the next free ports of two different vertices.
  void connect(Vertex a, Vertex b, CableKind kind);
  /// After the last cable: makes the look-up tables. Errors: a host without exactly one cable, a
  /// host that cannot reach another one, a vertex with more than 65,535 ports; they name the
  /// vertex.
  Result<void> finish();
  /// The structure as the builder knows it; routers believe it.
  void set_shape(Shape shape) { shape_ = std::move(shape); }

  const std::string& name() const { return name_; }
  std::uint32_t hosts() const { return hosts_; }
  std::uint32_t switches() const { return switches_; }
  std::uint32_t vertices() const { return hosts_ + switches_; }
  bool is_host(Vertex v) const { return v.value() < hosts_; }
  Vertex host(std::uint32_t i) const { return Vertex(i); }
  Vertex switch_at(std::uint32_t i) const { return Vertex(hosts_ + i); }
  std::uint32_t switch_index(Vertex v) const { return v.value() - hosts_; }

  std::uint32_t ports(Vertex v) const {
    return first_link_[v.value() + 1] - first_link_[v.value()];
  }
  std::uint32_t links() const { return static_cast<std::uint32_t>(peers_.size()); }
  /// The transmitter at a port, and back.
  LinkId link(PortRef p) const { return LinkId(first_link_[p.vertex.value()] + p.port.value()); }
  PortRef port(LinkId l) const { return own_[l.value()]; }
  /// The port at which packets of `l` arrive; the link back from there is `link(peer(l))`.
  PortRef peer(LinkId l) const { return peers_[l.value()]; }
  CableKind kind(LinkId l) const { return kinds_[l.value()]; }
  std::span<const Cable> cables() const { return cables_; }
  /// The other end of a host's cable: a switch, or another host.
  Vertex edge(std::uint32_t host) const { return peers_[first_link_[host]].vertex; }
  const Shape& shape() const { return shape_; }

  /// "host 3", "switch 12", or the name that a file gave it.
  std::string label(Vertex v) const;
  void set_label(Vertex v, std::string label);

 private:
  Topology() = default;
  std::string first_unreached() const;
  std::string name_;
  Shape shape_;
  std::uint32_t hosts_ = 0;
  std::uint32_t switches_ = 0;
  std::vector<Cable> cables_;
  std::vector<std::uint32_t> degree_;  // while building
  std::vector<std::uint32_t> first_link_;
  std::vector<PortRef> own_, peers_;
  std::vector<CableKind> kinds_;
  std::vector<std::string> labels_;  // empty, or one per vertex
};

}  // namespace weft::sim
