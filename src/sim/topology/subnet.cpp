// SPDX-License-Identifier: Apache-2.0
#include "sim/topology/subnet.hpp"

#include "sim/topology/options.hpp"

namespace weft::sim {

Result<void> Subnet::add_node(const Node& node, std::size_t line) {
  if (!by_guid_.emplace(node.guid, nodes_.size()).second) {
    return wrong(line, "\"{}\" has a block already; remove one", node.guid);
  }
  if (nodes_.size() == most_hosts) return wrong(line, "more than {} nodes", most_hosts);
  nodes_.push_back(node);
  return {};
}

Result<std::size_t> Subnet::find_or_add_node(const Node& node, std::size_t line) {
  const auto found = by_guid_.find(node.guid);
  if (found == by_guid_.end()) {
    if (auto added = add_node(node, line); !added) return std::move(added).error();
    return nodes_.size() - 1;
  }
  const Node& known = nodes_[found->second];
  if (known.is_switch != node.is_switch || known.ports != node.ports) {
    return wrong(line, "{} was another kind of node, or one of other ports, before", node.guid);
  }
  return found->second;
}

Result<void> Subnet::check(const PortLine& from, const Node& to, bool same_node) const {
  const Node& node = nodes_[from.node];
  if (from.port == 0 || from.port > node.ports) {
    return wrong(from.line, "port {} of a node with ports 1 to {}", from.port, node.ports);
  }
  if (from.other_port == 0 || from.other_port > to.ports) {
    return wrong(from.line, "port {} of \"{}\", which has ports 1 to {}", from.other_port,
                 from.other, to.ports);
  }
  if (same_node) {
    return wrong(from.line, "a cable from \"{}\" to itself; remove it", from.other);
  }
  if (!to.is_switch && !node.is_switch) {
    return wrong(from.line, "a cable between two channel adapters; put a switch between them");
  }
  return {};
}

/// Each cable once, checked from both ends.
Result<void> Subnet::find_cables() {
  std::unordered_map<End, End> far_end;
  for (const PortLine& from : lines_) {
    const auto found = by_guid_.find(from.other);
    if (found == by_guid_.end()) {
      return wrong(from.line, "\"{}\" has no Switch or Ca block; add it", from.other);
    }
    const bool same_node = found->second == from.node;
    if (auto fits = check(from, nodes_[found->second], same_node); !fits) return fits;
    const End here = end_of(from.node, from.port);
    const End there = end_of(found->second, from.other_port);
    const auto [mine, mine_new] = far_end.emplace(here, there);
    const auto [other, other_new] = far_end.emplace(there, here);
    if (mine->second != there || other->second != here) {
      return wrong(from.line, "port {} has two different cables; the two ends must agree",
                   mine->second != there ? from.port : from.other_port);
    }
    if (mine_new) cables_.emplace_back(here, there);
  }
  return {};
}

/// Hosts and switches in the order of the file.
void Subnet::number_vertices() {
  std::vector<std::vector<std::uint16_t>> connected(nodes_.size());
  for (const auto& [a, b] : cables_) {
    for (const End end : {a, b}) {
      if (!nodes_[end >> 16].is_switch) {
        connected[end >> 16].push_back(static_cast<std::uint16_t>(end & 0xffff));
      }
    }
  }
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    for (const std::uint16_t port : connected[n]) host_of_.emplace(end_of(n, port), hosts_++);
    if (nodes_[n].is_switch) switch_of_.emplace(n, switches_++);
  }
}

Vertex Subnet::vertex(End end) const {
  const auto host = host_of_.find(end);
  return Vertex(host != host_of_.end() ? host->second : hosts_ + switch_of_.at(end >> 16));
}

/// Descriptions where they are unique, identities elsewhere.
void Subnet::set_labels(Topology& net) const {
  std::unordered_map<std::string_view, int> times;
  for (const Node& node : nodes_) ++times[node.description];
  const auto label = [&](const Node& node) {
    const bool clear = !node.description.empty() && times[node.description] == 1;
    return std::string(clear ? node.description : node.guid);
  };
  for (const auto& [end, host] : host_of_) {
    const Node& node = nodes_[end >> 16];
    net.set_label(net.host(host), node.ports == 1
                                      ? label(node)
                                      : fmt::format("{} port {}", label(node), end & 0xffff));
  }
  for (const auto& [node, index] : switch_of_) {
    net.set_label(net.switch_at(index), label(nodes_[node]));
  }
}

Result<Topology> Subnet::build() {
  if (auto found = find_cables(); !found) return std::move(found).error();
  number_vertices();
  auto made = Topology::make(fmt::format("file:{}", file_), hosts_, switches_);
  if (!made) return made;
  set_labels(*made);
  for (const auto& [a, b] : cables_) {
    const Vertex from = vertex(a);
    const Vertex to = vertex(b);
    const bool host = made->is_host(from) || made->is_host(to);
    made->connect(from, to, host ? CableKind::host : CableKind::local);
  }
  if (auto finished = made->finish(); !finished) return std::move(finished).error();
  return made;
}

}  // namespace weft::sim
