// SPDX-License-Identifier: Apache-2.0
#include "weft/spmd/partitioning.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "spmd/overlap.hpp"

namespace weft::spmd {

/// Every rank has that of all ranks: kept small, one after another.
struct Partitioning::State {
  Space space;
  std::vector<Slice> slices;
  std::vector<std::size_t> ends;  // of each rank's slices
  std::vector<Box> bounds;        // of each rank; none where no rank has more than one slice
  bool disjoint = true;
  bool complete = true;

  std::span<const Slice> of(Rank rank) const {
    WEFT_CHECK(rank.value() < ends.size(), "rank {} of {}", rank.value(), ends.size());
    const std::size_t begin = rank.value() == 0 ? 0 : ends[rank.value() - 1];
    return std::span(slices).subspan(begin, ends[rank.value()] - begin);
  }
};

namespace {

bool overlaps_within_mapping(std::span<const Slice> slices) {
  bool found = false;
  for_each_overlap(slices, slices, [&](std::size_t a, std::size_t b, const Box&) {
    found = found || (a < b && slices[a].mapping == slices[b].mapping);
  });
  return found;
}

/// Later slices lose the indices that earlier ones of their mapping have.
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

/// The dimension in which boxes overlap least: to sort by.
unsigned sharpest_dimension(const Space& space, std::span<const Slice> slices) {
  unsigned best = 0;
  double least = 0;
  for (unsigned d = 0; d < space.dimensions(); ++d) {
    double covered = 0;
    for (const Slice& slice : slices) covered += static_cast<double>(slice.box.extent(d));
    covered /= static_cast<double>(space.extent(d));
    if (d > 0 && covered >= least) continue;
    best = d;
    least = covered;
  }
  return best;
}

/// Returns whether any element is in two of the slices; true as soon as one is found.
bool any_twice(const Space& space, std::vector<Slice> slices) {
  const unsigned d = sharpest_dimension(space, slices);
  std::sort(slices.begin(), slices.end(),
            [d](const Slice& a, const Slice& b) { return a.box.from[d] < b.box.from[d]; });
  for (std::size_t i = 0; i < slices.size(); ++i) {
    for (std::size_t j = i + 1; j < slices.size(); ++j) {
      if (slices[j].box.from[d] >= slices[i].box.to[d]) break;
      if (slices[i].box.intersects(slices[j].box)) return true;
    }
  }
  return false;
}

bool cover(const Space& space, std::span<const Slice> slices) {
  std::vector<Box> missing{space.box()};
  for (const auto& [box, mapping] : slices) {
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
  std::vector<Box> bounds;
  std::int64_t total = 0;
  bool has_several = false;
  for (auto& of_rank : slices) {
    Box around;
    for (const Slice& slice : normalised(space, std::move(of_rank))) {
      around = around.bounding(slice.box);
      total += slice.box.size();
      state->slices.push_back(slice);
    }
    bounds.push_back(around);
    const std::size_t begin = state->ends.empty() ? 0 : state->ends.back();
    has_several = has_several || state->slices.size() > begin + 1;
    state->ends.push_back(state->slices.size());
  }
  state->slices.shrink_to_fit();
  if (has_several) state->bounds = std::move(bounds);
  // Ranks that hold more elements than the space has hold some twice: no need to look which.
  state->disjoint = total <= space.size() && !any_twice(space, state->slices);
  state->complete = state->disjoint ? total == space.size() : cover(space, state->slices);
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
  return static_cast<std::uint32_t>(state_->ends.size());
}

std::span<const Slice> Partitioning::slices(Rank rank) const& {
  return state_->of(rank);
}

std::int64_t Partitioning::size(Rank rank) const {
  std::int64_t total = 0;
  for (const Slice& slice : state_->of(rank)) total += slice.box.size();
  return total;
}

Box Partitioning::bounds(Rank rank) const {
  const auto slices = state_->of(rank);
  if (slices.empty()) return {};
  return state_->bounds.empty() ? slices[0].box : state_->bounds[rank.value()];
}

std::vector<Box> Partitioning::mappings(Rank rank) const {
  std::vector<Box> boxes;
  for (const Slice& slice : state_->of(rank)) {
    if (slice.mapping >= boxes.size()) boxes.resize(slice.mapping + 1);
    boxes[slice.mapping] = boxes[slice.mapping].bounding(slice.box);
  }
  return boxes;
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
    const Rank rank(static_cast<std::uint32_t>(r));
    const auto held = state_->of(rank);
    if (rank_of[r] == Rank::max()) {
      WEFT_CHECK(held.empty(), "rank {} leaves, but still holds {} elements", r, size(rank));
      continue;
    }
    slices.at(rank_of[r].value()).assign(held.begin(), held.end());
  }
  return Partitioning(state_->space, std::move(slices));
}

}  // namespace weft::spmd
