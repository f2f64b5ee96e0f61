// SPDX-License-Identifier: Apache-2.0
#include "sim/topology/builders.hpp"
#include "sim/topology/topology_file.hpp"

namespace weft::sim {
namespace {

struct Builder {
  Result<Topology> operator()(const StarOptions& options) const { return make_star(options); }
  Result<Topology> operator()(const FatTreeOptions& options) const {
    return make_fat_tree(options);
  }
  Result<Topology> operator()(const DragonflyOptions& options) const {
    return make_dragonfly(options);
  }
  Result<Topology> operator()(const TorusOptions& options) const { return make_torus(options); }
  Result<Topology> operator()(const TopologyFileOptions& options) const {
    return read_topology_file(options.path);
  }
};

}  // namespace

Result<Topology> make_topology(const TopologyOptions& options) {
  return std::visit(Builder{}, options);
}

Result<Topology> make_topology(std::string_view text) {
  auto options = parse_topology(text);
  if (!options) return std::move(options).error();
  return make_topology(*options);
}

}  // namespace weft::sim
