// SPDX-License-Identifier: Apache-2.0
// Index spaces of one to three dimensions, boxes in them, and sets of indices. Plain values: any
// thread, no errors. Elements along dimension 0 (x) are consecutive in memory.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft::spmd {

/// The most dimensions that a space has.
inline constexpr unsigned max_dimensions = 3;

/// A place in a space. Coordinates that the space does not have are 0.
class Index {
 public:
  constexpr Index() = default;
  constexpr Index(std::int64_t x, std::int64_t y = 0, std::int64_t z = 0) : at_{x, y, z} {}

  constexpr std::int64_t x() const { return at_[0]; }
  constexpr std::int64_t y() const { return at_[1]; }
  constexpr std::int64_t z() const { return at_[2]; }
  /// Dimensions are 0 (x) to 2 (z).
  constexpr std::int64_t operator[](unsigned dimension) const { return at_[dimension]; }
  constexpr std::int64_t& operator[](unsigned dimension) { return at_[dimension]; }
  constexpr bool operator==(const Index&) const = default;

 private:
  std::array<std::int64_t, max_dimensions> at_{};
};

/// All indices from `from` up to, but without, `to`, in each dimension. Dimensions that the space
/// does not have go from 0 to 1. LAIK calls it a slice, or range.
struct Box {
  Index from{};
  Index to{};

  /// Make boxes of one and of two dimensions, from the first index to one past the last.
  static constexpr Box line(std::int64_t x0, std::int64_t x1) { return {{x0, 0, 0}, {x1, 1, 1}}; }
  static constexpr Box rectangle(std::int64_t x0, std::int64_t x1, std::int64_t y0,
                                 std::int64_t y1) {
    return {{x0, y0, 0}, {x1, y1, 1}};
  }

  constexpr bool operator==(const Box&) const = default;
  constexpr bool is_empty() const {
    return from[0] >= to[0] || from[1] >= to[1] || from[2] >= to[2];
  }
  /// Returns the number of indices along one dimension: 0 if `to` is not above `from` there.
  constexpr std::int64_t extent(unsigned dimension) const {
    return to[dimension] > from[dimension] ? to[dimension] - from[dimension] : 0;
  }
  /// Returns the number of indices in the box.
  constexpr std::int64_t size() const { return extent(0) * extent(1) * extent(2); }
  constexpr bool contains(Index i) const {
    for (unsigned d = 0; d < max_dimensions; ++d) {
      if (i[d] < from[d] || i[d] >= to[d]) return false;
    }
    return true;
  }
  /// Returns whether all of `other` is in this box, as an empty box always is.
  constexpr bool contains(const Box& other) const {
    return other.is_empty() || intersection(other) == other;
  }
  /// Returns the box of the indices that are in both boxes, which may be empty.
  constexpr Box intersection(const Box& other) const {
    Box both;
    for (unsigned d = 0; d < max_dimensions; ++d) {
      both.from[d] = from[d] > other.from[d] ? from[d] : other.from[d];
      both.to[d] = to[d] < other.to[d] ? to[d] : other.to[d];
    }
    return both;
  }
  constexpr bool intersects(const Box& other) const { return !intersection(other).is_empty(); }
  /// Returns the smallest box around both; if one of them is empty, the other one.
  constexpr Box bounding(const Box& other) const {
    if (is_empty()) return other;
    if (other.is_empty()) return *this;
    Box around;
    for (unsigned d = 0; d < max_dimensions; ++d) {
      around.from[d] = from[d] < other.from[d] ? from[d] : other.from[d];
      around.to[d] = to[d] > other.to[d] ? to[d] : other.to[d];
    }
    return around;
  }
  /// Returns this box with other ends in one dimension.
  constexpr Box with(unsigned dimension, std::int64_t first, std::int64_t last) const {
    Box changed = *this;
    changed.from[dimension] = first;
    changed.to[dimension] = last;
    return changed;
  }
};

/// Appends the part of `box` that is not in `hole`: up to six disjoint boxes.
void append_difference(const Box& box, const Box& hole, std::vector<Box>& out);

/// Returns the box as text: "[3,7)" in one dimension, "[0,4)x[0,9)" in two.
std::string to_text(const Box& box, unsigned dimensions);

/// A space of one to three dimensions, each from 0. Two spaces of the same extents are the same.
class Space {
 public:
  /// Aborts unless each extent is at least 1.
  explicit Space(std::int64_t x);
  Space(std::int64_t x, std::int64_t y);
  Space(std::int64_t x, std::int64_t y, std::int64_t z);

  unsigned dimensions() const { return dimensions_; }
  const Box& box() const { return box_; }
  std::int64_t extent(unsigned dimension) const { return box_.extent(dimension); }
  std::int64_t size() const { return box_.size(); }
  bool operator==(const Space&) const = default;

 private:
  unsigned dimensions_;
  Box box_;
};

/// A set of indices, kept as disjoint boxes. In one dimension the boxes are sorted and no two of
/// them touch.
class IndexSet {
 public:
  IndexSet() = default;
  explicit IndexSet(const Box& box) { add(box); }
  /// Returns the set of these indices of a space of one dimension, which may come in any order and
  /// more than once.
  static IndexSet of(std::span<const std::int64_t> indices);

  /// Adds the indices that the set lacks.
  void add(const Box& box);
  void add(const IndexSet& set);
  /// Removes those of the box's indices that the set has.
  void remove(const Box& box);
  /// Returns the set of the indices that are also in the box.
  IndexSet intersection(const Box& box) const;
  bool contains(Index index) const;
  /// Returns the number of indices in the set.
  std::int64_t size() const;
  bool is_empty() const { return boxes_.empty(); }
  std::span<const Box> boxes() const& { return boxes_; }
  std::span<const Box> boxes() const&& = delete;  // would outlive its set

 private:
  void merge_lines();

  std::vector<Box> boxes_;
};

}  // namespace weft::spmd
