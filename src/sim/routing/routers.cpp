// SPDX-License-Identifier: Apache-2.0
#include "sim/routing/routers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <variant>

#include "base/make_error.hpp"
#include "sim/routing/families.hpp"

namespace weft::sim {

std::vector<std::string_view> router_names(const Topology& topology) {
  struct Names {
    std::vector<std::string_view> operator()(std::monostate) const {
      return {"shortest", "ecmp", "updown"};
    }
    std::vector<std::string_view> operator()(const FatTreeShape&) const {
      return {"d-mod-k", "ecmp", "adaptive"};
    }
    std::vector<std::string_view> operator()(const DragonflyShape&) const {
      return {"ugal", "minimal", "valiant"};
    }
    std::vector<std::string_view> operator()(const TorusShape&) const {
      return {"dimension-order"};
    }
  };
  return std::visit(Names{}, topology.shape());
}

std::string_view default_router(const Topology& topology) {
  return router_names(topology).front();
}

Result<std::unique_ptr<Router>> make_router(std::string_view name, const Topology& topology) {
  const auto names = router_names(topology);
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    return invalid("router '{}' does not fit topology '{}'; use {}", name, topology.name(),
                   fmt::join(names, " or "));
  }
  if (name == "d-mod-k") return make_d_mod_k(topology);
  if (name == "adaptive") return make_tree_adaptive(topology);
  if (name == "minimal") return make_dragonfly_router(topology, DragonflyPolicy::minimal);
  if (name == "valiant") return make_dragonfly_router(topology, DragonflyPolicy::valiant);
  if (name == "ugal") return make_dragonfly_router(topology, DragonflyPolicy::ugal);
  if (name == "dimension-order") return make_dimension_order(topology);
  if (name == "shortest") return make_table_router(topology, TablePolicy::shortest);
  if (name == "updown") return make_table_router(topology, TablePolicy::updown);
  if (std::holds_alternative<FatTreeShape>(topology.shape())) return make_tree_ecmp(topology);
  return make_table_router(topology, TablePolicy::ecmp);
}

}  // namespace weft::sim
