// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include "sim/topology/builders.hpp"

namespace weft::sim {
namespace {

using detail::impossible;

constexpr std::size_t most_dimensions = 16;

Result<void> check(const TorusOptions& options, const std::string& name) {
  if (options.sizes.empty() || options.sizes.size() > most_dimensions) {
    return impossible("topology '{}': {} dimensions; use 1 to {}", name, options.sizes.size(),
                      most_dimensions);
  }
  if (options.hosts_per_switch == 0) {
    return impossible("topology '{}': 0 hosts per switch; use at least hosts=1", name);
  }
  std::uint64_t hosts = options.hosts_per_switch;
  std::uint64_t cables_per_switch = options.hosts_per_switch;
  for (const std::uint32_t size : options.sizes) {
    if (size == 0) return impossible("topology '{}': a size is 0; use at least 1", name);
    hosts *= size;
    cables_per_switch += 1;
    if (hosts > most_hosts) break;  // before the product overflows; refused below
  }
  return detail::check_size(name, hosts, hosts / options.hosts_per_switch * cables_per_switch);
}

}  // namespace

Result<Topology> make_torus(const TorusOptions& options) {
  const std::string name =
      fmt::format("torus:{},hosts={}", fmt::join(options.sizes, "x"), options.hosts_per_switch);
  if (auto possible = check(options, name); !possible) return std::move(possible).error();
  std::uint32_t switches = 1;
  for (const std::uint32_t size : options.sizes) switches *= size;
  auto made = Topology::make(name, switches * options.hosts_per_switch, switches);
  if (!made) return made;
  for (std::uint32_t h = 0; h < made->hosts(); ++h) {
    made->connect(made->host(h), made->switch_at(h / options.hosts_per_switch), CableKind::host);
  }
  std::uint32_t stride = 1;
  for (const std::uint32_t size : options.sizes) {
    for (std::uint32_t s = 0; size > 1 && s < switches; ++s) {
      const std::uint32_t coordinate = s / stride % size;
      if (coordinate + 1 < size) {
        made->connect(made->switch_at(s), made->switch_at(s + stride), CableKind::local);
      } else if (size > 2) {
        made->connect(made->switch_at(s), made->switch_at(s - coordinate * stride),
                      CableKind::local);
      }
    }
    stride *= size;
  }
  made->set_shape(TorusShape{.sizes = options.sizes, .hosts_per_switch = options.hosts_per_switch});
  if (auto finished = made->finish(); !finished) return std::move(finished).error();
  return made;
}

}  // namespace weft::sim
