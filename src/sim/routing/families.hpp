// SPDX-License-Identifier: Apache-2.0
// The routers of each kind of topology, for the factory in routers.hpp. The topology must have the
// shape that the function's name says, and must outlive the router.
#pragma once

#include <memory>

#include "sim/routing/router.hpp"
#include "weft/result.hpp"

namespace weft::sim {

/// Routes up by the destination's digits and down by the only path there is (Gomez et al. 2007;
/// paper 5, section 2.3; generalised to any width as by Zahavi 2010): for destination d, a leaf
/// with w cables up takes number d mod w, and a switch of the next level with v takes (d / w) mod
/// v. The digits wrap: destinations w apart share a leaf's cable.
std::unique_ptr<Router> make_d_mod_k(const Topology& topology);
/// Routes up by a hash of source, destination and flow, which each switch salts.
std::unique_ptr<Router> make_tree_ecmp(const Topology& topology);
/// Routes up by the port with the shortest queue, and draws among ports with equal queues.
std::unique_ptr<Router> make_tree_adaptive(const Topology& topology);

enum class DragonflyPolicy : std::uint8_t { minimal, valiant, ugal };
/// Routes as Kim et al. 2008, section 4. Minimal takes the nearest cable to the destination's
/// group, and among equals the one by a hash of the flow. Valiant passes through a random third
/// group, or within a group through a random third router. UGAL-L takes the minimal path at the
/// source's router, unless the bytes queued for its first port times its hops exceed those of one
/// random Valiant path. The channel class rises with each change of group and at a waypoint in a
/// group.
std::unique_ptr<Router> make_dragonfly_router(const Topology& topology, DragonflyPolicy policy);

/// Routes one dimension after the other, in the shorter direction of each ring; if both are as
/// long, a hash of source and destination decides. From the cable that closes the ring on, packets
/// are in class 1 (Dally and Seitz 1987).
std::unique_ptr<Router> make_dimension_order(const Topology& topology);

enum class TablePolicy : std::uint8_t { shortest, ecmp, updown };
/// Routes by tables per switch and edge switch. Shortest takes the fewest hops, and chooses among
/// equal ports by the destination's number; ecmp chooses by a hash of the flow. Updown (Autonet,
/// Schroeder et al. 1991) orders switches by distance from the most central one, and never goes up
/// after it went down. It takes the first path down that exists, so that only the destination
/// decides, as in InfiniBand's tables. Errors: tables of more than 2^26 entries.
Result<std::unique_ptr<Router>> make_table_router(const Topology& topology, TablePolicy policy);

}  // namespace weft::sim
