// SPDX-License-Identifier: Apache-2.0
// Exact integer arithmetic of the engines: replicas on different machines must compute the same
// proposals to the last bit, so nothing here is floating point.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.hpp"
#include "weft/time.hpp"

namespace weft::schedule::dfs {

/// Wide enough for squared durations and for a duration times parts per billion.
__extension__ using Wide = __int128;

/// No interval is longer (9.8 hours): only a broken peer reports a longer one. The bound keeps sums
/// of squares of a thousand durations inside of Wide.
inline constexpr Duration longest_duration{std::int64_t{1} << 45};

/// Percentages from 0 with two decimals, as whole numbers of hundredths of a percent.
inline constexpr std::int64_t whole_in_basis_points = 10'000;
constexpr std::int64_t basis_points(double percent) {
  return static_cast<std::int64_t>(percent * 100.0 + 0.5);
}

/// The middle value; of an even number, the mean of the middle two, rounded toward zero. Reorders
/// `values`, which must not be empty. Linear time, no allocation.
inline std::int64_t median(std::span<std::int64_t> values) {
  WEFT_CHECK(!values.empty());
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  const std::int64_t below = *std::max_element(values.begin(), middle);
  return static_cast<std::int64_t>((Wide{below} + *middle) / 2);
}

/// Times of broken peers end here instead of overflowing; no real clock gets there.
inline constexpr std::int64_t farthest_tick = std::int64_t{1} << 62;
constexpr std::int64_t saturated(Wide value) {
  return static_cast<std::int64_t>(std::clamp<Wide>(value, -farthest_tick, farthest_tick));
}

/// value · numerator / denominator, rounded toward zero, without overflow in between. The result
/// must fit; the denominator is not 0.
constexpr std::int64_t scale(std::int64_t value, std::int64_t numerator, std::int64_t denominator) {
  return static_cast<std::int64_t>(Wide{value} * numerator / denominator);
}

}  // namespace weft::schedule::dfs
