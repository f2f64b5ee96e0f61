// SPDX-License-Identifier: Apache-2.0
#include "weft/spmd/space.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.hpp"

namespace weft::spmd {
namespace {

bool is_line(const Box& box) {
  return box.from[1] == 0 && box.to[1] == 1 && box.from[2] == 0 && box.to[2] == 1;
}

}  // namespace

void append_difference(const Box& box, const Box& hole, std::vector<Box>& out) {
  const Box common = box.intersection(hole);
  if (common.is_empty()) {
    if (!box.is_empty()) out.push_back(box);
    return;
  }
  Box rest = box;
  for (unsigned d = max_dimensions; d-- > 0;) {
    if (rest.from[d] < common.from[d]) out.push_back(rest.with(d, rest.from[d], common.from[d]));
    if (common.to[d] < rest.to[d]) out.push_back(rest.with(d, common.to[d], rest.to[d]));
    rest = rest.with(d, common.from[d], common.to[d]);
  }
}

std::string to_text(const Box& box, unsigned dimensions) {
  std::string text;
  for (unsigned d = 0; d < dimensions; ++d) {
    text += fmt::format("{}[{},{})", d == 0 ? "" : "x", box.from[d], box.to[d]);
  }
  return text;
}

Space::Space(std::int64_t x) : dimensions_(1), box_(Box::line(0, x)) {
  WEFT_CHECK(!box_.is_empty(), "a space of {} indices", x);
}

Space::Space(std::int64_t x, std::int64_t y) : dimensions_(2), box_(Box::rectangle(0, x, 0, y)) {
  WEFT_CHECK(!box_.is_empty(), "a space of {} by {} indices", x, y);
}

Space::Space(std::int64_t x, std::int64_t y, std::int64_t z)
    : dimensions_(3), box_{{0, 0, 0}, {x, y, z}} {
  WEFT_CHECK(!box_.is_empty(), "a space of {} by {} by {} indices", x, y, z);
}

IndexSet IndexSet::of(std::span<const std::int64_t> indices) {
  std::vector<std::int64_t> sorted(indices.begin(), indices.end());
  std::sort(sorted.begin(), sorted.end());
  IndexSet set;
  for (const std::int64_t i : sorted) {
    if (!set.boxes_.empty() && i <= set.boxes_.back().to[0]) {
      set.boxes_.back().to[0] = std::max(set.boxes_.back().to[0], i + 1);
    } else {
      set.boxes_.push_back(Box::line(i, i + 1));
    }
  }
  return set;
}

void IndexSet::merge_lines() {
  if (!std::all_of(boxes_.begin(), boxes_.end(), is_line)) return;
  std::sort(boxes_.begin(), boxes_.end(),
            [](const Box& a, const Box& b) { return a.from[0] < b.from[0]; });
  std::size_t kept = 0;
  for (const Box& box : boxes_) {
    if (kept > 0 && box.from[0] <= boxes_[kept - 1].to[0]) {
      boxes_[kept - 1].to[0] = std::max(boxes_[kept - 1].to[0], box.to[0]);
    } else {
      boxes_[kept++] = box;
    }
  }
  boxes_.resize(kept);
}

void IndexSet::add(const Box& box) {
  std::vector<Box> missing;
  if (!box.is_empty()) missing.push_back(box);
  for (const Box& present : boxes_) {
    if (missing.empty()) return;
    std::vector<Box> rest;
    for (const Box& part : missing) append_difference(part, present, rest);
    missing = std::move(rest);
  }
  boxes_.insert(boxes_.end(), missing.begin(), missing.end());
  merge_lines();
}

void IndexSet::add(const IndexSet& set) {
  for (const Box& box : set.boxes_) add(box);
}

void IndexSet::remove(const Box& box) {
  std::vector<Box> rest;
  for (const Box& present : boxes_) append_difference(present, box, rest);
  boxes_ = std::move(rest);
  merge_lines();
}

IndexSet IndexSet::intersection(const Box& box) const {
  IndexSet common;
  for (const Box& present : boxes_) {
    const Box both = present.intersection(box);
    if (!both.is_empty()) common.boxes_.push_back(both);
  }
  return common;
}

bool IndexSet::contains(Index index) const {
  return std::any_of(boxes_.begin(), boxes_.end(),
                     [&](const Box& box) { return box.contains(index); });
}

std::int64_t IndexSet::size() const {
  std::int64_t total = 0;
  for (const Box& box : boxes_) total += box.size();
  return total;
}

}  // namespace weft::spmd
