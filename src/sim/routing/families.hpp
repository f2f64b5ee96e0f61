// SPDX-License-Identifier: Apache-2.0
// The routers of each kind of topology, for the factory in routers.hpp. The topology must have the
// shape that the name says; all outlive nothing but refer to it.
#pragma once

#include <memory>

#include "sim/routing/router.hpp"
#include "weft/result.hpp"

namespace weft::sim {

/// Up by the destination's digits, down by the only way there is (Gomez et al. 2007; paper 5,
/// section 2.3; generalised to any width as by Zahavi 2010): a leaf with w cables up takes number
/// d mod w for destination d, a switch of the next level with v takes (d / w) mod v. The digits
/// wrap: destinations w apart share a leaf's cable.
std::unique_ptr<Router> make_d_mod_k(const Topology& topology);
/// Up by a hash of source, destination and flow, which each switch salts.
std::unique_ptr<Router> make_tree_ecmp(const Topology& topology);
/// Up by the least queued port; of equal ones each is taken with the same probability.
std::unique_ptr<Router> make_tree_adaptive(const Topology& topology);

enum class DragonflyPolicy : std::uint8_t { minimal, valiant, ugal };
/// Kim et al. 2008, section 4. Minimal: the nearest cable to the destination's group, among equals
/// by a hash of the flow. Valiant: by way of a random third group, or within a group a random third
/// router. UGAL-L: at the source's router the minimal way, unless the bytes queued for its
/// first port times its hops are more than those of one random Valiant way. The channel class rises
/// with each change of group and at a waypoint within a group.
std::unique_ptr<Router> make_dragonfly_router(const Topology& topology, DragonflyPolicy policy);

/// Dimension after dimension, the shorter way round; at half the way a hash of source and
/// destination decides. Class 1 from the cable that closes the ring on (Dally and Seitz 1987).
std::unique_ptr<Router> make_dimension_order(const Topology& topology);

enum class TablePolicy : std::uint8_t { shortest, ecmp, updown };
/// From tables per switch and edge switch. Shortest: least hops, of equal ports the one by the
/// destination's number. Ecmp: the same by hash of the flow. Updown (Autonet, Schroeder et al.
/// 1991): never up again after down, in an order by distance from the most central switch; the
/// first way down that exists is taken, so that the destination alone decides as in InfiniBand's
/// tables. Errors: tables of more than 2^26 entries.
Result<std::unique_ptr<Router>> make_table_router(const Topology& topology, TablePolicy policy);

}  // namespace weft::sim
