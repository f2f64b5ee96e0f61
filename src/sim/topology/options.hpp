// SPDX-License-Identifier: Apache-2.0
// The topology to build, as the command line and scenarios say it in one word.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "weft/result.hpp"

namespace weft::sim {

/// Larger networks are refused before anything is allocated.
inline constexpr std::uint32_t most_hosts = 1u << 20;
inline constexpr std::uint64_t most_cables = 1u << 24;

/// One switch.
struct StarOptions {
  std::uint32_t hosts = 0;
};

/// Hosts per leaf to cables up per leaf: 1/1 is full bandwidth, 2/1 half of it.
struct Taper {
  std::uint32_t down = 1;
  std::uint32_t up = 1;
};

/// A folded Clos network. Fields of 0 are chosen: two levels while switches of 36 ports do, the
/// smallest radix that holds the hosts, or up to twice that when it divides them into full leaves.
struct FatTreeOptions {
  std::uint32_t hosts = 0;
  std::uint32_t levels = 0;  ///< 2 or 3
  std::uint32_t radix = 0;   ///< ports per switch, even
  Taper taper;
  /// Parallel ones between a switch of the highest level and each one below it: fewer switches
  /// there, with more of their ports used.
  std::uint32_t cables = 1;
};

/// A dragonfly (Kim et al. 2008). Fields of 0 are chosen: balanced, that is with twice as many
/// routers in a group as a router has hosts and as many global links as hosts; as many groups as
/// the hosts need. With `xc40`: routers of 4 hosts and 10 global links in up to 6 chassis of up to
/// 16, 3 cables between routers of the same slot; at least four groups among which the hosts are
/// divided evenly (a group has no more routers than they need, rounded up to full chassis rows).
struct DragonflyOptions {
  std::uint32_t hosts = 0;
  std::uint32_t groups = 0;
  std::uint32_t routers = 0;           ///< per group
  std::uint32_t hosts_per_router = 0;  ///< at most
  std::uint32_t global_links = 0;      ///< per router, at most
  std::uint32_t chassis_cables = 0;    ///< with xc40: parallel cables between chassis
  bool xc40 = false;
};

struct TorusOptions {
  std::vector<std::uint32_t> sizes;  ///< 1 to 16 dimensions
  std::uint32_t hosts_per_switch = 1;
};

/// TOML or a dump of ibnetdiscover; which of them is seen from its contents.
struct TopologyFileOptions {
  std::string path;
};

using TopologyOptions =
    std::variant<StarOptions, FatTreeOptions, DragonflyOptions, TorusOptions, TopologyFileOptions>;

/// "star:64", "fat-tree:1024", "fat-tree:1024,levels=3,radix=16,taper=2" (taper also 1.5 or 3:2),
/// "dragonfly:384", "dragonfly:384,shape=xc40" (also groups, routers, hosts, global, black),
/// "torus:8x8x8,hosts=1", "file:PATH". Errors name the text, the value in it and the fix. The
/// options may still be impossible; `make_topology` says so.
Result<TopologyOptions> parse_topology(std::string_view text);

}  // namespace weft::sim
