// SPDX-License-Identifier: Apache-2.0
// Partition: assigns hosts and switches to the parts of a divided simulation.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/topology/topology.hpp"

namespace weft::sim {

/// The part of each vertex, 0 … parts−1. Hosts are always with their switch. Switches with hosts
/// are kept in blocks of consecutive ones (whole pods or groups where these are enough) with about
/// as many hosts each; other switches go, from the hosts up, to the part that has most of their
/// neighbours, as far as each part gets its share of those at that distance. Parts are left empty
/// when there are fewer switches with hosts. Depends on nothing but the arguments.
std::vector<std::uint32_t> partition(const Topology& topology, std::uint32_t parts);

/// Ranks that have cables to vertices of rank `self`, ascending.
std::vector<std::uint32_t> neighbours_of(const Topology& topology,
                                         const std::vector<std::uint32_t>& owners,
                                         std::uint32_t self);

/// Returns a digest of the hosts, switches and cables: topologies with equal digests are equal.
std::uint64_t digest(const Topology& topology);

}  // namespace weft::sim
