// SPDX-License-Identifier: Apache-2.0
#include "core/sweep/median.hpp"

#include <algorithm>
#include <cmath>

#include "base/check.hpp"
#include "base/quantile.hpp"

namespace weft::sweep {
namespace {

/// That of six runs, 31/32. Who stops as soon as an interval is narrow stops at lucky ones more
/// often than at others, and finds the median in 95 % of them (median_test.cpp).
constexpr double wanted_confidence = 0.9687;

/// Returns the probability that the interval from the k-th smallest to the k-th largest of n values
/// (k from 1) covers the median: each value is below it with probability one half.
double coverage(std::size_t n, std::size_t k) {
  double outside = 0;
  for (std::size_t i = 0; i < k; ++i) {
    const auto a = static_cast<double>(n);
    const auto b = static_cast<double>(i);
    outside += std::exp(std::lgamma(a + 1) - std::lgamma(b + 1) - std::lgamma(a - b + 1) -
                        a * std::log(2.0));
  }
  return 1 - 2 * outside;
}

}  // namespace

MedianInterval median_interval(std::vector<double> values) {
  WEFT_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  std::size_t k = 1;
  while (2 * (k + 1) <= n && coverage(n, k + 1) >= wanted_confidence) ++k;
  return {.median = quantile(values, 0.5),
          .low = values[k - 1],
          .high = values[n - k],
          .confidence = coverage(n, k)};
}

double lower_quartile(std::vector<double> values) {
  WEFT_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  return quantile(values, 0.25);
}

}  // namespace weft::sweep
