// SPDX-License-Identifier: Apache-2.0
// All routers by name, and which of them fit a topology:
//   stars, fat trees  d-mod-k (default), ecmp, adaptive
//   dragonflies       ugal (default), minimal, valiant
//   tori              dimension-order
//   files             shortest (default), ecmp, updown
// All but shortest and ecmp on files are free of deadlock by construction.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "sim/routing/router.hpp"
#include "sim/topology/topology.hpp"
#include "weft/result.hpp"

namespace weft::sim {

/// The router refers to `topology`, which outlives it. Routers have no state of their own that
/// changes: one may serve several simulations, in several threads. Errors: a name that is unknown
/// or does not fit the topology (with those that do); tables that would be too large.
Result<std::unique_ptr<Router>> make_router(std::string_view name, const Topology& topology);

/// The names that fit a topology, the default first.
std::vector<std::string_view> router_names(const Topology& topology);
std::string_view default_router(const Topology& topology);

}  // namespace weft::sim
