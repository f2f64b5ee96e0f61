// SPDX-License-Identifier: Apache-2.0
// Folded Clos networks. A leaf of radix k and taper d:u has k·u/(d+u) cables up and d/u times as
// many hosts; a switch of the middle level k/2 down and k/2 up; one of the top level k down. Parts
// that a smaller number of hosts leaves unused are absent: hosts, leaves, whole pods, and the top
// level when it has nothing to connect.
#include <algorithm>

#include "sim/topology/builders.hpp"

namespace weft::sim {
namespace {

using detail::impossible;

constexpr std::uint32_t largest_two_level_radix = 36;
constexpr std::uint32_t largest_radix = 65'534;

std::uint32_t ups_of(std::uint32_t radix, const Taper& taper) {
  return static_cast<std::uint32_t>(std::uint64_t{radix} * taper.up / (taper.up + taper.down));
}

std::uint32_t hosts_of(std::uint32_t radix, const Taper& taper) {
  return static_cast<std::uint32_t>(std::uint64_t{ups_of(radix, taper)} * taper.down / taper.up);
}

std::uint64_t capacity(std::uint32_t levels, std::uint32_t radix, const Taper& taper) {
  const std::uint64_t hosts = hosts_of(radix, taper);
  return levels == 2 ? hosts * radix : hosts * (radix / 2) * radix;
}

/// The smallest even radix that holds the hosts; 0 when none does.
std::uint32_t smallest_radix(std::uint32_t levels, std::uint32_t hosts, const Taper& taper) {
  for (std::uint32_t radix = 2; radix <= largest_radix; radix += 2) {
    if (capacity(levels, radix, taper) >= hosts) return radix;
  }
  return 0;
}

/// The smallest one, or a larger one (up to twice that) whose leaves the hosts fill exactly.
std::uint32_t good_radix(std::uint32_t levels, std::uint32_t hosts, const Taper& taper) {
  const std::uint32_t smallest = smallest_radix(levels, hosts, taper);
  for (std::uint32_t radix = smallest; radix <= std::min(2 * smallest, largest_radix); radix += 2) {
    const std::uint32_t per_leaf = hosts_of(radix, taper);
    if (per_leaf > 0 && hosts % per_leaf == 0) return radix;
  }
  return smallest;
}

Result<void> choose(FatTreeOptions& options) {
  if (options.hosts == 0) return impossible("topology fat-tree: 0 hosts; give it at least one");
  if (options.levels != 0 && options.levels != 2 && options.levels != 3) {
    return impossible("topology fat-tree: levels is 2 or 3, not {}", options.levels);
  }
  if (options.radix % 2 != 0 || options.radix > largest_radix) {
    return impossible("topology fat-tree: radix is an even number from 2 to {}, not {}",
                      largest_radix, options.radix);
  }
  if (options.taper.up == 0 || options.taper.down < options.taper.up) {
    return impossible("topology fat-tree: taper {}:{} is below 1; use at least 1",
                      options.taper.down, options.taper.up);
  }
  if (options.levels == 0) {
    const std::uint32_t radix = options.radix != 0 ? options.radix : largest_two_level_radix;
    options.levels = capacity(2, radix, options.taper) >= options.hosts ? 2 : 3;
  }
  const std::uint32_t smallest = smallest_radix(options.levels, options.hosts, options.taper);
  if (options.radix == 0) {
    options.radix = good_radix(options.levels, options.hosts, options.taper);
  } else if (capacity(options.levels, options.radix, options.taper) < options.hosts) {
    return impossible(
        "topology fat-tree: {} hosts are more than the {} that {} levels of radix {} with taper "
        "{}:{} hold; use {}radix={}",
        options.hosts, capacity(options.levels, options.radix, options.taper), options.levels,
        options.radix, options.taper.down, options.taper.up,
        options.levels == 2 ? "levels=3 or " : "", smallest);
  }
  return {};
}

/// Parallel cables must come out even, and their switch must have ports for all of them.
Result<void> check_cables(const FatTreeOptions& options, const FatTreeShape& shape) {
  const std::uint32_t ups = shape.middle_ups > 0 ? shape.middle_ups : shape.leaf_ups;
  const std::uint32_t below = shape.middle_ups > 0 ? shape.pods() : shape.leaves;
  if (options.cables == 0 || ups % options.cables != 0) {
    return impossible(
        "topology fat-tree: {} cables up from a switch are not a multiple of {}; use "
        "cables=1 or a divisor of {}",
        ups, options.cables, ups);
  }
  if (ups > 0 && std::uint64_t{below} * options.cables > options.radix) {
    return impossible(
        "topology fat-tree: {} switches with {} cables each are more than a switch "
        "of radix {} has ports for; use cables={} or fewer",
        below, options.cables, options.radix, options.radix / below);
  }
  return {};
}

FatTreeShape shape_of(const FatTreeOptions& options) {
  const std::uint32_t per_leaf = hosts_of(options.radix, options.taper);
  FatTreeShape shape{.levels = options.levels, .hosts_per_leaf = per_leaf};
  shape.leaves = (options.hosts + per_leaf - 1) / per_leaf;
  shape.leaves_per_pod = options.levels == 3 ? options.radix / 2 : shape.leaves;
  shape.leaf_ups = shape.leaves > 1 ? ups_of(options.radix, options.taper) : 0;
  shape.cables = std::max(1U, options.cables);
  shape.middles = shape.leaf_ups * shape.pods();
  shape.middle_ups = shape.pods() > 1 ? options.radix / 2 : 0;
  shape.tops = shape.leaf_ups * shape.middle_ups / shape.cables;
  if (shape.middle_ups == 0) shape.middles /= shape.cables;
  return shape;
}

void connect_all(Topology& tree, const FatTreeShape& shape) {
  for (std::uint32_t h = 0; h < tree.hosts(); ++h) {
    tree.connect(tree.host(h), tree.switch_at(h / shape.hosts_per_leaf), CableKind::host);
  }
  const std::uint32_t to_middle = shape.middle_ups > 0 ? 1 : shape.cables;
  for (std::uint32_t leaf = 0; leaf < shape.leaves; ++leaf) {
    const std::uint32_t first = shape.leaves + leaf / shape.leaves_per_pod * shape.leaf_ups;
    for (std::uint32_t up = 0; up < shape.leaf_ups; ++up) {
      tree.connect(tree.switch_at(leaf), tree.switch_at(first + up / to_middle), CableKind::local);
    }
  }
  for (std::uint32_t middle = 0; shape.middle_ups > 0 && middle < shape.middles; ++middle) {
    const std::uint32_t plane = middle % shape.leaf_ups;
    const std::uint32_t first =
        shape.leaves + shape.middles + plane * (shape.middle_ups / shape.cables);
    for (std::uint32_t up = 0; up < shape.middle_ups; ++up) {
      tree.connect(tree.switch_at(shape.leaves + middle), tree.switch_at(first + up / shape.cables),
                   CableKind::local);
    }
  }
}

std::string taper_text(const Taper& taper) {
  return taper.up == 1 ? fmt::format("{}", taper.down) : fmt::format("{}:{}", taper.down, taper.up);
}

}  // namespace

Result<Topology> make_fat_tree(const FatTreeOptions& asked) {
  FatTreeOptions options = asked;
  if (auto chosen = choose(options); !chosen) return std::move(chosen).error();
  const FatTreeShape shape = shape_of(options);
  if (auto fits = check_cables(options, shape); !fits) return std::move(fits).error();
  std::string name = fmt::format("fat-tree:{},levels={},radix={},taper={}", options.hosts,
                                 options.levels, options.radix, taper_text(options.taper));
  if (options.cables > 1) name += fmt::format(",cables={}", options.cables);
  const std::uint64_t cables = options.hosts + std::uint64_t{shape.leaves} * shape.leaf_ups +
                               std::uint64_t{shape.middles} * shape.middle_ups;
  if (auto fits = detail::check_size(name, options.hosts, cables); !fits) {
    return std::move(fits).error();
  }
  auto made = Topology::make(name, options.hosts, shape.leaves + shape.middles + shape.tops);
  if (!made) return made;
  connect_all(*made, shape);
  made->set_shape(shape);
  if (auto finished = made->finish(); !finished) return std::move(finished).error();
  return made;
}

}  // namespace weft::sim
