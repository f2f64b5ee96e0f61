// SPDX-License-Identifier: Apache-2.0
#include "sim/topology/builders.hpp"

namespace weft::sim {

Result<Topology> make_star(const StarOptions& options) {
  auto made = Topology::make(fmt::format("star:{}", options.hosts), options.hosts, 1);
  if (!made) return made;
  for (std::uint32_t h = 0; h < options.hosts; ++h) {
    made->connect(made->host(h), made->switch_at(0), CableKind::host);
  }
  made->set_shape(FatTreeShape{.levels = 1,
                               .hosts_per_leaf = options.hosts,
                               .leaves_per_pod = 1,
                               .leaf_ups = 0,
                               .middle_ups = 0,
                               .leaves = 1,
                               .middles = 0,
                               .tops = 0});
  if (auto finished = made->finish(); !finished) return std::move(finished).error();
  return made;
}

}  // namespace weft::sim
