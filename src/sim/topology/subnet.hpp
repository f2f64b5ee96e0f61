// SPDX-License-Identifier: Apache-2.0
// An InfiniBand subnet as a dump describes it: nodes with identities and numbered ports, and each
// cable from both ends. The readers of all formats fill it.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/make_error.hpp"
#include "sim/topology/topology.hpp"
#include "weft/result.hpp"

namespace weft::sim {

/// Keeps views of the dump's text and a reference to the file's name: the caller keeps both alive.
class Subnet {
 public:
  struct Node {
    std::string_view guid;
    std::string_view description;
    bool is_switch = false;
    std::uint16_t ports = 0;
  };

  explicit Subnet(const std::string& file) : file_(file) {}

  /// Adds a node. Errors: the subnet has one of that identity, or too many nodes.
  Result<void> add_node(const Node& node, std::size_t line);
  /// Returns the number of the node of that identity, which it adds if there is none. Errors: the
  /// known node has another kind or number of ports; the subnet has too many nodes.
  Result<std::size_t> find_or_add_node(const Node& node, std::size_t line);
  /// Adds a cable from this port of node number `node`. The far node may be added later.
  void add_cable(std::size_t node, std::uint16_t port, std::string_view far_guid,
                 std::uint16_t far_port, std::size_t line) {
    lines_.push_back({node, port, far_guid, far_port, line});
  }
  const std::vector<Node>& nodes() const { return nodes_; }

  /// Returns the network, in which each connected port of a channel adapter is a host. Errors:
  /// cables whose ends contradict each other or do not exist; those of `Topology::finish`.
  Result<Topology> build();

  /// Returns the error "FILE:LINE: …".
  template <class... Args>
  Error wrong(std::size_t line, fmt::format_string<Args...> format, Args&&... args) const {
    return invalid("{}:{}: {}", file_, line, fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  struct PortLine {
    std::size_t node = 0;
    std::uint16_t port = 0;
    std::string_view other;
    std::uint16_t other_port = 0;
    std::size_t line = 0;
  };
  using End = std::uint64_t;  // a port of a node
  static End end_of(std::size_t node, std::uint16_t port) { return End{node} << 16 | port; }

  Result<void> find_cables();
  Result<void> check(const PortLine& from, const Node& to, bool same_node) const;
  void number_vertices();
  Vertex vertex(End end) const;
  void set_labels(Topology& net) const;

  const std::string& file_;
  std::vector<Node> nodes_;
  std::vector<PortLine> lines_;
  std::unordered_map<std::string_view, std::size_t> by_guid_;
  std::vector<std::pair<End, End>> cables_;
  std::unordered_map<End, std::uint32_t> host_of_;
  std::unordered_map<std::size_t, std::uint32_t> switch_of_;
  std::uint32_t hosts_ = 0;
  std::uint32_t switches_ = 0;
};

}  // namespace weft::sim
