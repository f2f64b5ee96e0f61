// SPDX-License-Identifier: Apache-2.0
#include "weft/spmd/partitioning.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "spmd/overlap.hpp"

namespace weft::spmd {

struct Partitioning::State {
  struct Part {
    std::vector<Slice> slices;
    std::vector<Box> mappings;
    Box bounds;
    std::int64_t size = 0;
  };
  Space space;
  std::vector<Part> parts;
  bool disjoint = true;
  bool complete = true;
};

namespace {

bool overlaps_within_mapping(std::span<const Slice> slices) {
  bool found = false;
  for_each_overlap(slices, slices, [&](std::size_t a, std::size_t b, const Box&) {
    found = found || (a < b && slices[a].mapping == slices[b].mapping);
  });
  return found;
}

/// Later slices lose what earlier ones of their mapping have.
std::vector<Slice> made_disjoint(std::vector<Slice> slices) {
  std::vector<Slice> result;
  for (const Slice& slice : slices) {
    std::vector<Box> rest{slice.box};
    for (std::size_t i = 0; i < result.size() && !rest.empty(); ++i) {
      if (result[i].mapping != slice.mapping || !result[i].box.intersects(slice.box)) continue;
      std::vector<Box> smaller;
      for (const Box& box : rest) append_difference(box, result[i].box, smaller);
      rest = std::move(smaller);
    }
    for (const Box& box : rest) result.push_back({box, slice.mapping});
  }
  return result;
}

std::vector<Slice> normalised(const Space& space, std::vector<Slice> slices) {
  std::erase_if(slices, [](const Slice& slice) { return slice.box.is_empty(); });
  for (const Slice& slice : slices) {
    WEFT_CHECK(space.box().contains(slice.box), "a slice {} outside of its space {}",
               to_text(slice.box, space.dimensions()), to_text(space.box(), space.dimensions()));
  }
  const auto ascending = [](const Slice& a, const Slice& b) {
    return a.box.from[0] < b.box.from[0];
  };
  if (space.dimensions() == 1) std::stable_sort(slices.begin(), slices.end(), ascending);
  if (overlaps_within_mapping(slices)) {
    slices = made_disjoint(std::move(slices));
    if (space.dimensions() == 1) std::stable_sort(slices.begin(), slices.end(), ascending);
  }
  return slices;
}

/// Whether any element is in two of the boxes; true as soon as one is found.
bool any_twice(std::vector<Box> boxes) {
  std::sort(boxes.begin(), boxes.end(),
            [](const Box& a, const Box& b) { return a.from[0] < b.from[0]; });
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    for (std::size_t j = i + 1; j < boxes.size() && boxes[j].from[0] < boxes[i].to[0]; ++j) {
      if (boxes[i].intersects(boxes[j])) return true;
    }
  }
  return false;
}

bool cover(const Space& space, std::span<const Box> boxes) {
  std::vector<Box> missing{space.box()};
  for (const Box& box : boxes) {
    if (missing.empty()) return true;
    std::vector<Box> rest;
    for (const Box& part : missing) append_difference(part, box, rest);
    missing = std::move(rest);
  }
  return missing.empty();
}

}  // namespace

Partitioning::Partitioning(const Space& space, std::vector<std::vector<Slice>> slices) {
  auto state = std::make_shared<State>(State{.space = space});
  std::vector<Box> boxes;
  std::int64_t total = 0;
  for (auto& of_rank : slices) {
    State::Part part;
    part.slices = normalised(space, std::move(of_rank));
    for (const Slice& slice : part.slices) {
      if (slice.mapping >= part.mappings.size()) part.mappings.resize(slice.mapping + 1);
      part.mappings[slice.mapping] = part.mappings[slice.mapping].bounding(slice.box);
      part.bounds = part.bounds.bounding(slice.box);
      part.size += slice.box.size();
      boxes.push_back(slice.box);
    }
    total += part.size;
    state->parts.push_back(std::move(part));
  }
  // Who holds more than the space holds something twice: no need to look for where.
  state->disjoint = total <= space.size() && !any_twice(boxes);
  state->complete = state->disjoint ? total == space.size() : cover(space, boxes);
  state_ = std::move(state);
}

Partitioning::Partitioning(const Space& space, std::uint32_t ranks,
                           const std::function<std::vector<Slice>(Rank)>& slices_of)
    : Partitioning(space, [&] {
        std::vector<std::vector<Slice>> slices;
        for (std::uint32_t r = 0; r < ranks; ++r) slices.push_back(slices_of(Rank(r)));
        return slices;
      }()) {}

const Space& Partitioning::space() const {
  return state_->space;
}

std::uint32_t Partitioning::ranks() const {
  return static_cast<std::uint32_t>(state_->parts.size());
}

std::span<const Slice> Partitioning::slices(Rank rank) const& {
  WEFT_CHECK(rank.value() < ranks(), "slices of rank {} of {}", rank.value(), ranks());
  return state_->parts[rank.value()].slices;
}

std::int64_t Partitioning::size(Rank rank) const {
  return state_->parts.at(rank.value()).size;
}

const Box& Partitioning::bounds(Rank rank) const {
  return state_->parts.at(rank.value()).bounds;
}

std::span<const Box> Partitioning::mappings(Rank rank) const& {
  return state_->parts.at(rank.value()).mappings;
}

bool Partitioning::is_disjoint() const {
  return state_->disjoint;
}

bool Partitioning::is_complete() const {
  return state_->complete;
}

Partitioning Partitioning::renumbered(std::span<const Rank> rank_of, std::uint32_t ranks) const {
  WEFT_CHECK(rank_of.size() == this->ranks(), "{} new ranks for {}", rank_of.size(), this->ranks());
  std::vector<std::vector<Slice>> slices(ranks);
  for (std::size_t r = 0; r < rank_of.size(); ++r) {
    const auto& part = state_->parts[r];
    if (rank_of[r] == Rank::max()) {
      WEFT_CHECK(part.slices.empty(), "rank {} leaves, but still holds {} elements", r, part.size);
      continue;
    }
    slices.at(rank_of[r].value()) = part.slices;
  }
  return Partitioning(state_->space, std::move(slices));
}

}  // namespace weft::spmd
