// SPDX-License-Identifier: Apache-2.0
// A builder's knowledge of the structure that it made, for routers that work by formula. Those
// formulas rely on the order of switches and ports promised here.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

namespace weft::sim {

/// A folded Clos network of 1 (a star), 2 or 3 levels. Switches are numbered leaves first, then
/// those of the second level (by pod), then those of the third (by plane: all that the same
/// switch of each pod reaches). Hosts fill leaves in order, leaves fill pods in order. Ports: those
/// down first, in the order of the vertices below; then those up, in the order of the switches
/// above; parallel cables side by side.
struct FatTreeShape {
  std::uint32_t levels = 1;
  std::uint32_t hosts_per_leaf = 0;  ///< of a full leaf; the last may have fewer
  std::uint32_t leaves_per_pod = 0;  ///< of a full pod; with fewer than 3 levels all leaves
  std::uint32_t leaf_ups = 0;        ///< cables from each leaf up; 0 when there is but one leaf
  std::uint32_t middle_ups = 0;      ///< from each second-level switch up; 0 when but one pod
  std::uint32_t leaves = 0;
  std::uint32_t middles = 0;  ///< second level, in all pods
  std::uint32_t tops = 0;     ///< third level
  std::uint32_t cables = 1;   ///< parallel ones from the highest level to each switch below it
  std::uint32_t pods() const { return (leaves + leaves_per_pod - 1) / leaves_per_pod; }
};

/// Groups of routers that stand in a rectangle of chassis × slots: all routers of a chassis are
/// connected to each other, and so are those in the same slot of different chassis. One chassis
/// is the fully connected group of the literature; 6 × 16 is a Cray XC's. Routers are numbered by
/// group, then chassis, then slot. Ports: hosts; own chassis, by slot; other chassis, by chassis,
/// parallel cables side by side; other groups.
struct DragonflyShape {
  std::uint32_t groups = 1;
  std::uint32_t chassis = 1;  ///< per group
  std::uint32_t slots = 1;    ///< routers per chassis
  std::uint32_t hosts_per_router = 1;
  std::uint32_t chassis_cables = 1;  ///< parallel ones between two routers of different chassis
  std::uint32_t group_cables = 0;    ///< between each two groups
  std::uint32_t routers_per_group() const { return chassis * slots; }
};

/// A grid that is closed in each dimension. Switches are numbered with the first dimension's
/// coordinate running fastest. Ports: hosts; then dimension by dimension the neighbour below and
/// the one above, the other way round at coordinate 0. A dimension of size 2 has one cable between
/// the two, one of size 1 has none.
struct TorusShape {
  std::vector<std::uint32_t> sizes;
  std::uint32_t hosts_per_switch = 1;
};

/// std::monostate: nothing is known, as of a file.
using Shape = std::variant<std::monostate, FatTreeShape, DragonflyShape, TorusShape>;

}  // namespace weft::sim
