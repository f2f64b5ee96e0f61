// SPDX-License-Identifier: Apache-2.0
// The overlaps of two lists of slices, each pair once, in an order that follows from the lists
// alone: sender and receiver walk through the same pieces in the same order.
#pragma once

#include <cstddef>
#include <span>

#include "weft/spmd/partitioning.hpp"

namespace weft::spmd {

inline bool are_sorted_lines(std::span<const Slice> slices) {
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const Box& box = slices[i].box;
    if (box.from[1] != 0 || box.to[1] != 1 || box.from[2] != 0 || box.to[2] != 1) return false;
    if (i > 0 && box.from[0] < slices[i - 1].box.to[0]) return false;
  }
  return true;
}

/// Calls visit(i, j, box) for every i of `a` and j of `b` that overlap; ascending in i, then j.
/// Linear in the number of overlaps where both are sorted, disjoint pieces of a line.
template <class Visit>
void for_each_overlap(std::span<const Slice> a, std::span<const Slice> b, Visit&& visit) {
  if (a.empty() || b.empty()) return;
  if (a.size() > 8 && b.size() > 8 && are_sorted_lines(a) && are_sorted_lines(b)) {
    std::size_t first = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      while (first < b.size() && b[first].box.to[0] <= a[i].box.from[0]) ++first;
      for (std::size_t j = first; j < b.size() && b[j].box.from[0] < a[i].box.to[0]; ++j) {
        visit(i, j, a[i].box.intersection(b[j].box));
      }
    }
    return;
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j) {
      const Box both = a[i].box.intersection(b[j].box);
      if (!both.is_empty()) visit(i, j, both);
    }
  }
}

}  // namespace weft::spmd
