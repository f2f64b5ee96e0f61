// SPDX-License-Identifier: Apache-2.0
// Statistics of repeated runs: a median with its confidence interval, which hold for any
// distribution of times.
#pragma once

#include <vector>

namespace weft::sweep {

/// A median and an interval between two order statistics that covers the true median.
struct MedianInterval {
  double median = 0;
  double low = 0;
  double high = 0;
  /// The probability that an interval between the same two order statistics covers the true median:
  /// above 0.96 from 6 runs on, which leaves 0.95 for those who measure until it is narrow.
  double confidence = 0;

  double half_width() const { return (high - low) / 2; }
};

/// Values must be finite, and there must be one at least. With fewer than 6 the interval is from
/// the least to the largest, and its confidence is below that.
MedianInterval median_interval(std::vector<double> values);

/// The value below which a quarter of the values lie, interpolated. At least one value.
double lower_quartile(std::vector<double> values);

}  // namespace weft::sweep
