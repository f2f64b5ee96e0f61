// SPDX-License-Identifier: Apache-2.0
// Reductions: how values that several ranks wrote for the same index become one. Values are always
// folded in the order of ranks, ((v0 ∘ v1) ∘ v2) ∘ …, in any order of arrival and by every
// algorithm: the result is the same bit for bit, also of operations that do not commute
// (Kurtz 2018, 4.2.1).
#pragma once

#include <concepts>
#include <cstddef>
#include <cstring>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

namespace weft::spmd {

/// Whether (a ∘ b) ∘ c and a ∘ (b ∘ c) are the same bit for bit. Floating-point sums are not: their
/// values then travel singly where a tree would have added them up on the way.
enum class Grouping { any, left_to_right };

/// A reduction of bytes, for code that does not know the type.
struct RawReduction {
  std::vector<std::byte> neutral;
  /// accumulator[i] = accumulator[i] ∘ values[i] for `count` elements.
  std::function<void(std::byte* accumulator, const std::byte* values, std::size_t count)> fold;
  Grouping grouping = Grouping::left_to_right;
};

/// A reduction of T. Copies share nothing; the function must give the same on all ranks.
template <class T>
class Reduction {
 public:
  /// User-defined: `combine(left, right)` with left from lower ranks. An index that no rank wrote
  /// gets `neutral`.
  template <class Combine>
  requires std::invocable<const Combine&, const T&, const T&>
  static Reduction of(T neutral, Combine combine, Grouping grouping = Grouping::left_to_right) {
    Reduction reduction;
    reduction.neutral_ = neutral;
    reduction.raw_.neutral.resize(sizeof(T));
    std::memcpy(reduction.raw_.neutral.data(), &neutral, sizeof(T));
    reduction.raw_.grouping = grouping;
    reduction.raw_.fold = [combine = std::move(combine)](
                              std::byte* accumulator, const std::byte* values, std::size_t count) {
      T* const left = reinterpret_cast<T*>(accumulator);
      const T* const right = reinterpret_cast<const T*>(values);
      for (std::size_t i = 0; i < count; ++i) left[i] = combine(left[i], right[i]);
    };
    return reduction;
  }
  static Reduction sum() {
    return of(
        T{}, [](const T& a, const T& b) { return static_cast<T>(a + b); }, exact());
  }
  static Reduction product() {
    return of(
        T{1}, [](const T& a, const T& b) { return static_cast<T>(a * b); }, exact());
  }
  /// Keeps the lower rank's value when two values are equal or do not compare.
  static Reduction min() {
    using Limits = std::numeric_limits<T>;
    const T top = Limits::has_infinity ? Limits::infinity() : Limits::max();
    return of(
        top, [](const T& a, const T& b) { return b < a ? b : a; }, exact());
  }
  static Reduction max() {
    using Limits = std::numeric_limits<T>;
    const T bottom = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    return of(
        bottom, [](const T& a, const T& b) { return a < b ? b : a; }, exact());
  }
  /// Bit by bit; of bool: logical.
  static Reduction bit_and() requires std::integral<T> {
    T ones{1};
    if constexpr (!std::same_as<T, bool>) ones = static_cast<T>(~T{});
    return of(
        ones, [](const T& a, const T& b) { return static_cast<T>(a & b); }, Grouping::any);
  }
  static Reduction bit_or() requires std::integral<T> {
    return of(
        T{}, [](const T& a, const T& b) { return static_cast<T>(a | b); }, Grouping::any);
  }
  /// One of the values written: that of the lowest rank.
  static Reduction any() {
    return of(
        T{}, [](const T& a, const T&) { return a; }, Grouping::any);
  }

  const T& neutral() const { return neutral_; }
  const RawReduction& raw() const { return raw_; }

 private:
  // Minima of floating-point numbers are not exact either: NaN makes them depend on the order.
  static constexpr Grouping exact() {
    return std::integral<T> ? Grouping::any : Grouping::left_to_right;
  }

  T neutral_{};
  RawReduction raw_;
};

}  // namespace weft::spmd
