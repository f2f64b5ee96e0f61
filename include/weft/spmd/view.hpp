// SPDX-License-Identifier: Apache-2.0
// View: a box of a container's local memory, by global indices or by local ones, without a check.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/spmd/space.hpp"

namespace weft::spmd {

/// Does not own; valid until the container is switched to memory elsewhere (reserved memory never
/// moves). Cheap to copy. Elements along x are consecutive.
template <class T>
class View {
 public:
  View() = default;
  /// `first` is the element at `box.from`; `strides` are in elements.
  View(T* first, const Box& box, std::array<std::ptrdiff_t, max_dimensions> strides)
      : first_(first), box_(box), strides_(strides) {}

  /// Returns the indices of the space that the view shows.
  const Box& box() const { return box_; }
  std::int64_t extent(unsigned dimension) const { return box_.extent(dimension); }
  std::int64_t size() const { return box_.size(); }
  bool is_empty() const { return box_.is_empty(); }
  std::ptrdiff_t stride(unsigned dimension) const { return strides_[dimension]; }
  T* data() const { return first_; }

  /// By local index: 0 … extent−1.
  T& operator()(std::int64_t x, std::int64_t y = 0, std::int64_t z = 0) const {
    return first_[x + y * strides_[1] + z * strides_[2]];
  }
  /// By global index, which lies in `box`.
  T& operator[](Index at) const {
    return (*this)(at.x() - box_.from.x(), at.y() - box_.from.y(), at.z() - box_.from.z());
  }
  /// The consecutive elements at global y and z.
  std::span<T> row(std::int64_t y = 0, std::int64_t z = 0) const {
    return {&(*this)(0, y - box_.from.y(), z - box_.from.z()), static_cast<std::size_t>(extent(0))};
  }
  /// A box within it, by global indices.
  View part(const Box& box) const {
    if (box.is_empty()) return View(first_, box, strides_);
    return View(&(*this)[box.from], box, strides_);
  }
  /// Returns whether all its elements are consecutive.
  bool is_contiguous() const {
    return (extent(1) <= 1 || strides_[1] == extent(0)) &&
           (extent(2) <= 1 || strides_[2] == extent(0) * extent(1));
  }
  /// All elements, of a contiguous view.
  std::span<T> values() const { return {first_, static_cast<std::size_t>(size())}; }
  /// Calls visit(index, element) for all of them, x fastest.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::int64_t z = box_.from.z(); z < box_.to.z(); ++z) {
      for (std::int64_t y = box_.from.y(); y < box_.to.y(); ++y) {
        for (std::int64_t x = box_.from.x(); x < box_.to.x(); ++x) {
          const Index at(x, y, z);
          visit(at, (*this)[at]);
        }
      }
    }
  }

 private:
  T* first_ = nullptr;
  Box box_{};
  std::array<std::ptrdiff_t, max_dimensions> strides_{1, 0, 0};
};

}  // namespace weft::spmd
