// SPDX-License-Identifier: Apache-2.0
// Cables by the names of their ends, as scenarios and faults have them.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sim/topology/topology.hpp"
#include "weft/result.hpp"

namespace weft::sim {

/// Names are the labels of hosts and switches without their spaces: "host3", "switch12", or a
/// file's own. The topology outlives it. One thread.
class CableNames {
 public:
  explicit CableNames(const Topology& topology) : topology_(topology) {}

  /// Both directions of all cables of a vertex ("host3"), or of all those between two
  /// ("switch0--switch4"). Errors: a name that nothing has, two vertices without a cable between
  /// them; they list the names.
  Result<std::vector<LinkId>> find(std::string_view name);

 private:
  Result<Vertex> vertex(std::string_view name);

  const Topology& topology_;
  std::unordered_map<std::string, Vertex> by_name_;  // filled when first needed
};

}  // namespace weft::sim
