// SPDX-License-Identifier: Apache-2.0
// The builders, one file each, and the factory over them. All return finished topologies whose
// name, given to `parse_topology`, makes the same again. Errors name the option, value and fix.
#pragma once

#include <fmt/format.h>

#include "base/make_error.hpp"
#include "sim/topology/options.hpp"
#include "sim/topology/topology.hpp"
#include "weft/result.hpp"

namespace weft::sim {

/// Any kind. Errors: impossible options (more hosts than ports, and the like), or an unreadable
/// file.
Result<Topology> make_topology(const TopologyOptions& options);
/// The same from its word, see `parse_topology`.
Result<Topology> make_topology(std::string_view text);

Result<Topology> make_star(const StarOptions& options);
Result<Topology> make_fat_tree(const FatTreeOptions& options);
Result<Topology> make_dragonfly(const DragonflyOptions& options);
Result<Topology> make_torus(const TorusOptions& options);

namespace detail {

template <class... Args>
Error impossible(fmt::format_string<Args...> format, Args&&... args) {
  return invalid(format, std::forward<Args>(args)...);
}

/// Refuses topologies that would take gigabytes.
inline Result<void> check_size(std::string_view name, std::uint64_t hosts, std::uint64_t cables) {
  if (hosts > most_hosts) {
    return impossible("topology '{}': {} hosts are more than {}; use fewer", name, hosts,
                      most_hosts);
  }
  if (cables > most_cables) {
    return impossible("topology '{}': {} cables are more than {}; use fewer or smaller switches",
                      name, cables, most_cables);
  }
  return {};
}

}  // namespace detail
}  // namespace weft::sim
