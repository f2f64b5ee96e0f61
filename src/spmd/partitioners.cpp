// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/check.hpp"
#include "weft/spmd/partitioning.hpp"

namespace weft::spmd {
namespace {

using SlicesOfRanks = std::vector<std::vector<Slice>>;

unsigned longest_dimension(const Box& box) {
  unsigned longest = 0;
  for (unsigned d = 1; d < max_dimensions; ++d) {
    if (box.extent(d) >= box.extent(longest)) longest = d;
  }
  return longest;
}

std::vector<double> rank_shares(std::uint32_t ranks, const BlockOptions& options) {
  std::vector<double> shares(ranks, 1);
  if (options.rank_weight) {
    for (std::uint32_t r = 0; r < ranks; ++r) shares[r] = options.rank_weight(Rank(r));
  }
  const bool valid = std::all_of(shares.begin(), shares.end(), [](double w) { return w >= 0; });
  WEFT_CHECK(valid && std::accumulate(shares.begin(), shares.end(), 0.0) > 0,
             "block: weights of ranks must not be negative, nor all 0");
  return shares;
}

double total_weight(std::int64_t extent, const BlockOptions& options) {
  if (!options.index_weight) return static_cast<double>(extent);
  double total = 0;
  for (std::int64_t i = 0; i < extent; ++i) {
    const double weight = options.index_weight(i);
    WEFT_CHECK(weight >= 0, "block: the weight of index {} is negative", i);
    total += weight;
  }
  return total;
}

/// The ends of parts of unequal weight: an index belongs to the part in which its middle lies.
std::vector<std::int64_t> weighted_ends(std::int64_t extent, const std::vector<double>& shares,
                                        std::uint32_t cycles, const BlockOptions& options) {
  const double total = total_weight(extent, options);
  const double all_shares = std::accumulate(shares.begin(), shares.end(), 0.0) * cycles;
  std::vector<std::int64_t> ends;
  std::int64_t next = 0;
  double passed = 0;  // weight of the indices before `next`
  double weight = options.index_weight ? options.index_weight(0) : 1;
  double share = 0;
  for (std::size_t part = 0; part < shares.size() * cycles; ++part) {
    share += shares[part % shares.size()];
    const double target = total * (share / all_shares);
    if (!options.index_weight) {
      next = std::min(extent, static_cast<std::int64_t>(std::floor(target + 0.5)));
    }
    while (options.index_weight && next < extent && passed + weight / 2 <= target) {
      passed += weight;
      if (++next < extent) weight = options.index_weight(next);
    }
    ends.push_back(next);
  }
  // The remainder of rounding belongs to the last part that may hold indices.
  std::size_t last = ends.size() - 1;
  while (shares[last % shares.size()] == 0) --last;
  std::fill(ends.begin() + static_cast<std::ptrdiff_t>(last), ends.end(), extent);
  return ends;
}

std::vector<std::int64_t> even_ends(std::int64_t extent, std::uint64_t parts) {
  std::vector<std::int64_t> ends;
  const auto count = static_cast<std::int64_t>(parts);
  for (std::int64_t part = 1; part <= count; ++part) {
    ends.push_back(extent / count * part + extent % count * part / count);
  }
  return ends;
}

void bisect(const Box& box, std::uint32_t first, std::uint32_t ranks, SlicesOfRanks& slices) {
  if (ranks == 1 || box.is_empty()) {
    slices[first].push_back({box, 0});
    return;
  }
  const unsigned d = longest_dimension(box);
  const std::uint32_t left = ranks / 2;
  const std::int64_t middle = box.from[d] + box.extent(d) * left / ranks;
  bisect(box.with(d, box.from[d], middle), first, left, slices);
  bisect(box.with(d, middle, box.to[d]), first + left, ranks - left, slices);
}

Box grown(const Box& box, unsigned dimension, std::int64_t depth, const Space& space) {
  return box.with(dimension, std::max<std::int64_t>(0, box.from[dimension] - depth),
                  std::min(space.extent(dimension), box.to[dimension] + depth));
}

/// Applies `grow` to each slice of each rank; it appends boxes, the first of which is kept whole.
template <class Grow>
Partitioning derived(const Partitioning& base, Grow&& grow) {
  SlicesOfRanks slices(base.ranks());
  for (std::uint32_t r = 0; r < base.ranks(); ++r) {
    for (const Slice& slice : base.slices(Rank(r))) {
      std::vector<Box> boxes;
      grow(slice.box, boxes);
      for (const Box& box : boxes) slices[r].push_back({box, slice.mapping});
    }
  }
  return Partitioning(base.space(), std::move(slices));
}

/// The least level to which filling up those below it takes all of `amount`.
std::int64_t water_level(const std::vector<std::int64_t>& levels, std::int64_t amount) {
  std::int64_t low = 0;
  std::int64_t high =
      amount + (levels.empty() ? 0 : *std::max_element(levels.begin(), levels.end()));
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    std::int64_t taken = 0;
    for (const std::int64_t level : levels) taken += std::max<std::int64_t>(0, middle - level);
    (taken >= amount ? high : low) = taken >= amount ? middle : middle + 1;
  }
  return low;
}

/// Adds a box to a rank's slices: to a slice that it continues, else to a mapping of its own.
void give(std::vector<Slice>& slices, const Box& box) {
  std::uint32_t free_mapping = 0;
  for (const Slice& slice : slices) free_mapping = std::max(free_mapping, slice.mapping + 1);
  for (Slice& slice : slices) {
    const Box both = slice.box.bounding(box);
    const bool joins = both.size() == slice.box.size() + box.size();
    const bool is_alone = std::count_if(slices.begin(), slices.end(), [&](const Slice& other) {
                            return other.mapping == slice.mapping;
                          }) == 1;
    if (joins && is_alone) {
      slice.box = both;
      return;
    }
  }
  slices.push_back({box, free_mapping});
}

}  // namespace

Partitioning all(const Space& space, std::uint32_t ranks) {
  return Partitioning(space, SlicesOfRanks(ranks, {{space.box(), 0}}));
}

Partitioning master(const Space& space, std::uint32_t ranks, Rank root) {
  WEFT_CHECK(root.value() < ranks, "master: rank {} of {}", root.value(), ranks);
  SlicesOfRanks slices(ranks);
  slices[root.value()].push_back({space.box(), 0});
  return Partitioning(space, std::move(slices));
}

Partitioning block(const Space& space, std::uint32_t ranks, const BlockOptions& options) {
  WEFT_CHECK(ranks > 0 && options.cycles > 0, "block: {} ranks, {} cycles", ranks, options.cycles);
  const unsigned d =
      options.dimension == max_dimensions ? space.dimensions() - 1 : options.dimension;
  WEFT_CHECK(d < space.dimensions(), "block: no dimension {}", d);
  const auto ends =
      options.index_weight || options.rank_weight
          ? weighted_ends(space.extent(d), rank_shares(ranks, options), options.cycles, options)
          : even_ends(space.extent(d), std::uint64_t{ranks} * options.cycles);
  SlicesOfRanks slices(ranks);
  std::int64_t begin = 0;
  for (std::size_t part = 0; part < ends.size(); ++part) {
    const auto cycle = static_cast<std::uint32_t>(part / ranks);
    slices[part % ranks].push_back({space.box().with(d, begin, ends[part]), cycle});
    begin = ends[part];
  }
  return Partitioning(space, std::move(slices));
}

Partitioning cyclic(const Space& space, std::uint32_t ranks, std::int64_t length,
                    unsigned dimension) {
  WEFT_CHECK(ranks > 0 && length > 0 && dimension < space.dimensions(),
             "cyclic: {} ranks, length {}, dimension {}", ranks, length, dimension);
  SlicesOfRanks slices(ranks);
  const std::int64_t extent = space.extent(dimension);
  std::uint32_t rank = 0;
  for (std::int64_t begin = 0; begin < extent; begin += length) {
    const Box box = space.box().with(dimension, begin, std::min(extent, begin + length));
    slices[rank].push_back({box, 0});
    rank = (rank + 1) % ranks;
  }
  return Partitioning(space, std::move(slices));
}

Partitioning bisection(const Space& space, std::uint32_t ranks) {
  WEFT_CHECK(ranks > 0, "bisection among no ranks");
  SlicesOfRanks slices(ranks);
  bisect(space.box(), 0, ranks, slices);
  return Partitioning(space, std::move(slices));
}

Partitioning grid(const Space& space, std::array<std::uint32_t, max_dimensions> parts) {
  std::array<std::vector<std::int64_t>, max_dimensions> ends;
  for (unsigned d = 0; d < max_dimensions; ++d) {
    WEFT_CHECK(parts[d] > 0 && (d < space.dimensions() || parts[d] == 1),
               "grid: {} parts in dimension {}", parts[d], d);
    ends[d] = even_ends(space.extent(d), parts[d]);
  }
  SlicesOfRanks slices;
  for (std::uint32_t z = 0; z < parts[2]; ++z) {
    for (std::uint32_t y = 0; y < parts[1]; ++y) {
      for (std::uint32_t x = 0; x < parts[0]; ++x) {
        const std::array<std::uint32_t, max_dimensions> at{x, y, z};
        Box box;
        for (unsigned d = 0; d < max_dimensions; ++d) {
          box = box.with(d, at[d] == 0 ? 0 : ends[d][at[d] - 1], ends[d][at[d]]);
        }
        slices.push_back({{box, 0}});
      }
    }
  }
  return Partitioning(space, std::move(slices));
}

std::array<std::uint32_t, max_dimensions> grid_parts(const Space& space, std::uint32_t ranks) {
  WEFT_CHECK(ranks > 0, "a grid of no ranks");
  std::array<std::uint32_t, max_dimensions> best{1, 1, ranks};
  double least = std::numeric_limits<double>::infinity();
  for (std::uint32_t x = 1; x <= ranks; ++x) {
    if (ranks % x != 0) continue;
    for (std::uint32_t y = 1; y <= ranks / x; ++y) {
      if (ranks / x % y != 0) continue;
      const std::array<std::uint32_t, max_dimensions> parts{x, y, ranks / x / y};
      double surface = 0;  // of all cuts, relative to the volume
      bool fits = true;
      for (unsigned d = 0; d < max_dimensions; ++d) {
        fits = fits && (d < space.dimensions() || parts[d] == 1);
        surface += (parts[d] - 1) / static_cast<double>(space.extent(d));
      }
      if (fits && surface < least) {
        least = surface;
        best = parts;
      }
    }
  }
  return best;
}

Partitioning halo(const Partitioning& base, std::int64_t depth) {
  WEFT_CHECK(depth >= 0, "a halo of {} elements", depth);
  return derived(base, [&](const Box& box, std::vector<Box>& out) {
    out.push_back(box);
    for (unsigned d = 0; d < base.space().dimensions(); ++d) {
      append_difference(grown(box, d, depth, base.space()), box, out);
    }
  });
}

Partitioning corner_halo(const Partitioning& base, std::int64_t depth) {
  WEFT_CHECK(depth >= 0, "a halo of {} elements", depth);
  return derived(base, [&](const Box& box, std::vector<Box>& out) {
    Box larger = box;
    for (unsigned d = 0; d < base.space().dimensions(); ++d) {
      larger = grown(larger, d, depth, base.space());
    }
    out.push_back(larger);
  });
}

Partitioning copy(const Space& space, const Partitioning& base, unsigned base_dimension,
                  unsigned dimension) {
  WEFT_CHECK(base_dimension < base.space().dimensions() && dimension < space.dimensions(),
             "copy: dimension {} from dimension {}", dimension, base_dimension);
  SlicesOfRanks slices(base.ranks());
  for (std::uint32_t r = 0; r < base.ranks(); ++r) {
    for (const Slice& slice : base.slices(Rank(r))) {
      const std::int64_t end = std::min(space.extent(dimension), slice.box.to[base_dimension]);
      slices[r].push_back(
          {space.box().with(dimension, slice.box.from[base_dimension], end), slice.mapping});
    }
  }
  return Partitioning(space, std::move(slices));
}

Partitioning reassign(const Partitioning& base, std::span<const Rank> leaving) {
  SlicesOfRanks slices(base.ranks());
  std::vector<std::uint32_t> staying;
  std::vector<std::int64_t> levels;
  std::int64_t amount = 0;
  for (std::uint32_t r = 0; r < base.ranks(); ++r) {
    if (std::find(leaving.begin(), leaving.end(), Rank(r)) != leaving.end()) {
      amount += base.size(Rank(r));
      continue;
    }
    staying.push_back(r);
    levels.push_back(base.size(Rank(r)));
    const auto kept = base.slices(Rank(r));
    slices[r].assign(kept.begin(), kept.end());
  }
  WEFT_CHECK(!staying.empty(), "reassign: all {} ranks leave", base.ranks());
  const std::int64_t level = water_level(levels, amount);
  std::size_t to = 0;
  std::int64_t room = level - levels[0];
  for (const Rank rank : leaving) {
    for (const Slice& slice : base.slices(rank)) {
      Box rest = slice.box;
      const unsigned d = longest_dimension(rest);
      const std::int64_t plane = rest.size() / rest.extent(d);
      while (!rest.is_empty()) {
        while (room <= 0 && to + 1 < staying.size()) room = level - levels[++to];
        const std::int64_t planes =
            to + 1 == staying.size()
                ? rest.extent(d)
                : std::clamp<std::int64_t>((room + plane / 2) / plane, 1, rest.extent(d));
        give(slices[staying[to]], rest.with(d, rest.from[d], rest.from[d] + planes));
        rest = rest.with(d, rest.from[d] + planes, rest.to[d]);
        room -= planes * plane;
      }
    }
  }
  return Partitioning(base.space(), std::move(slices));
}

}  // namespace weft::spmd
