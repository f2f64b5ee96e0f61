// SPDX-License-Identifier: Apache-2.0
// Dragonflies (Kim, Dally, Scott, Abts 2008), also with groups of chassis like the Cray XC's (paper
// 1 runs on one; Faanes et al. 2012 describe it). Global links are dealt out evenly: between each
// two groups lie as many cables as fit, on routers as far apart as possible; other ports stay
// unused.
#include <algorithm>

#include "sim/topology/builders.hpp"

namespace weft::sim {
namespace {

using detail::impossible;

constexpr std::uint32_t xc40_chassis = 6;
constexpr std::uint32_t xc40_slots = 16;
constexpr std::uint32_t xc40_hosts = 4;
constexpr std::uint32_t xc40_global_links = 10;
constexpr std::uint32_t xc40_chassis_cables = 3;
constexpr std::uint32_t xc40_fewest_groups = 4;

std::uint32_t divide_up(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint32_t>((a + b - 1) / b);
}

void choose_xc40(DragonflyOptions& options) {
  if (options.hosts_per_router == 0) options.hosts_per_router = xc40_hosts;
  if (options.global_links == 0) options.global_links = xc40_global_links;
  if (options.chassis_cables == 0) options.chassis_cables = xc40_chassis_cables;
  const std::uint64_t most = options.routers != 0 ? options.routers : xc40_chassis * xc40_slots;
  if (options.groups == 0) {
    const std::uint32_t needed = divide_up(options.hosts, most * options.hosts_per_router);
    options.groups = std::max(std::min(options.hosts, xc40_fewest_groups), needed);
  }
  if (options.routers == 0) {
    const std::uint32_t hosts = divide_up(options.hosts, options.groups);
    options.routers = divide_up(hosts, options.hosts_per_router);
  }
}

/// Balanced: a = 2p = 2h (Kim et al., section 3.1), as far as nothing else is asked for.
void choose_balanced(DragonflyOptions& options) {
  const std::uint64_t hosts = options.hosts;
  const std::uint64_t in_group = options.groups == 0 ? 0 : divide_up(hosts, options.groups);
  std::uint64_t p = options.hosts_per_router;
  std::uint64_t a = options.routers;
  if (p == 0 && a == 0) {
    const auto holds = [&] {
      return in_group != 0 ? 2 * p * p >= in_group : 2 * p * p * (2 * p * p + 1) >= hosts;
    };
    for (p = 1; !holds();) ++p;
  } else if (p == 0) {
    p = in_group != 0 ? divide_up(in_group, a) : std::max<std::uint64_t>(1, a / 2);
  }
  if (a == 0) a = in_group != 0 ? divide_up(in_group, p) : 2 * p;
  options.hosts_per_router = static_cast<std::uint32_t>(p);
  options.routers = static_cast<std::uint32_t>(a);
  if (options.groups == 0) options.groups = divide_up(hosts, a * p);
  if (options.global_links == 0) {
    options.global_links =
        std::max(options.hosts_per_router, divide_up(options.groups - 1, options.routers));
  }
}

DragonflyShape shape_of(const DragonflyOptions& options) {
  DragonflyShape shape{.groups = options.groups,
                       .chassis = 1,
                       .slots = options.routers,
                       .hosts_per_router = options.hosts_per_router,
                       .chassis_cables = 1,
                       .group_cables = 0};
  if (options.xc40) {
    shape.chassis = divide_up(options.routers, xc40_slots);
    shape.slots = divide_up(options.routers, shape.chassis);
    shape.chassis_cables = options.chassis_cables;
  }
  if (shape.groups > 1) {
    shape.group_cables = static_cast<std::uint32_t>(std::uint64_t{shape.routers_per_group()} *
                                                    options.global_links / (shape.groups - 1));
  }
  return shape;
}

std::string name_of(const DragonflyOptions& options, const DragonflyShape& shape) {
  return fmt::format("dragonfly:{}{},groups={},routers={},hosts={},global={}{}", options.hosts,
                     options.xc40 ? ",shape=xc40" : "", shape.groups, shape.routers_per_group(),
                     shape.hosts_per_router, options.global_links,
                     options.xc40 ? fmt::format(",black={}", shape.chassis_cables) : "");
}

Result<void> check(const DragonflyOptions& options, const DragonflyShape& shape,
                   const std::string& name) {
  const std::uint64_t routers = std::uint64_t{shape.groups} * shape.routers_per_group();
  const std::uint64_t places = routers * shape.hosts_per_router;
  if (shape.groups > 65'535) {
    return impossible("topology '{}': {} groups are more than 65535; use larger groups", name,
                      shape.groups);
  }
  if (options.xc40 && shape.chassis > xc40_chassis) {
    return impossible("topology '{}': a group has at most {} routers; use more groups", name,
                      xc40_chassis * xc40_slots);
  }
  if (places < options.hosts) {
    return impossible("topology '{}': {} hosts are more than its {} ports for hosts; use groups={}",
                      name, options.hosts, places, divide_up(options.hosts, places / shape.groups));
  }
  if (shape.groups > 1 && shape.group_cables == 0) {
    return impossible(
        "topology '{}': {} global links of a group do not reach {} other groups; use global={}",
        name, std::uint64_t{shape.routers_per_group()} * options.global_links, shape.groups - 1,
        divide_up(shape.groups - 1, shape.routers_per_group()));
  }
  const std::uint64_t in_chassis = std::uint64_t{shape.slots} * (shape.slots - 1) / 2;
  const std::uint64_t across =
      std::uint64_t{shape.chassis} * (shape.chassis - 1) / 2 * shape.slots * shape.chassis_cables;
  const std::uint64_t pairs = std::uint64_t{shape.groups} * (shape.groups - 1) / 2;
  return detail::check_size(name, options.hosts,
                            options.hosts + pairs * shape.group_cables +
                                shape.groups * (shape.chassis * in_chassis + across));
}

void connect_hosts(Topology& net, const DragonflyShape& shape) {
  std::uint32_t host = 0;
  for (std::uint32_t group = 0; group < shape.groups; ++group) {
    const std::uint32_t in_group =
        net.hosts() / shape.groups + (group < net.hosts() % shape.groups ? 1 : 0);
    for (std::uint32_t i = 0; i < in_group; ++i) {
      const std::uint32_t router = group * shape.routers_per_group() + i / shape.hosts_per_router;
      net.connect(net.host(host++), net.switch_at(router), CableKind::host);
    }
  }
}

void connect_group(Topology& net, const DragonflyShape& shape, std::uint32_t group) {
  const auto router = [&](std::uint32_t chassis, std::uint32_t slot) {
    return net.switch_at((group * shape.chassis + chassis) * shape.slots + slot);
  };
  for (std::uint32_t chassis = 0; chassis < shape.chassis; ++chassis) {
    for (std::uint32_t slot = 0; slot < shape.slots; ++slot) {
      for (std::uint32_t other = slot + 1; other < shape.slots; ++other) {
        net.connect(router(chassis, slot), router(chassis, other), CableKind::local);
      }
    }
  }
  for (std::uint32_t chassis = 0; chassis < shape.chassis; ++chassis) {
    for (std::uint32_t other = chassis + 1; other < shape.chassis; ++other) {
      for (std::uint32_t slot = 0; slot < shape.slots; ++slot) {
        for (std::uint32_t cable = 0; cable < shape.chassis_cables; ++cable) {
          net.connect(router(chassis, slot), router(other, slot), CableKind::local);
        }
      }
    }
  }
}

void connect_groups(Topology& net, const DragonflyShape& shape) {
  const std::uint32_t others = shape.groups - 1;
  const std::uint64_t used = std::uint64_t{shape.group_cables} * others;
  // A group's ends are counted through by cable, then by how far on the other group lies.
  const auto end = [&](std::uint32_t group, std::uint32_t cable, std::uint32_t offset) {
    const std::uint64_t number = std::uint64_t{cable} * others + offset;
    const std::uint64_t router = number * shape.routers_per_group() / used;
    return net.switch_at(group * shape.routers_per_group() + static_cast<std::uint32_t>(router));
  };
  for (std::uint32_t a = 0; a < shape.groups; ++a) {
    for (std::uint32_t b = a + 1; b < shape.groups; ++b) {
      const std::uint32_t offset = b - a - 1;
      for (std::uint32_t cable = 0; cable < shape.group_cables; ++cable) {
        net.connect(end(a, cable, offset), end(b, cable, others - 1 - offset), CableKind::global);
      }
    }
  }
}

}  // namespace

Result<Topology> make_dragonfly(const DragonflyOptions& asked) {
  if (asked.hosts == 0) return impossible("topology dragonfly: 0 hosts; give it at least one");
  if (asked.hosts > most_hosts) {
    return impossible("topology dragonfly: {} hosts are more than {}; use fewer", asked.hosts,
                      most_hosts);
  }
  DragonflyOptions options = asked;
  if (options.xc40) {
    choose_xc40(options);
  } else {
    choose_balanced(options);
  }
  const DragonflyShape shape = shape_of(options);
  const std::string name = name_of(options, shape);
  if (auto fits = check(options, shape, name); !fits) return std::move(fits).error();
  auto made = Topology::make(name, options.hosts, shape.groups * shape.routers_per_group());
  if (!made) return made;
  connect_hosts(*made, shape);
  for (std::uint32_t group = 0; group < shape.groups; ++group) connect_group(*made, shape, group);
  connect_groups(*made, shape);
  made->set_shape(shape);
  if (auto finished = made->finish(); !finished) return std::move(finished).error();
  return made;
}

}  // namespace weft::sim
