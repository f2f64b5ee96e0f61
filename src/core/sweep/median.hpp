// SPDX-License-Identifier: Apache-2.0
// Statistics of repeated runs: a median with its confidence interval, and the rule that tells a
// disturbed run. Nothing is assumed of the distribution but that disturbances make runs slower.
#pragma once

#include <vector>

namespace weft::sweep {

/// A median and an interval between two order statistics that covers the true median.
struct MedianInterval {
  double median = 0;
  double low = 0;
  double high = 0;
  double confidence = 0;  ///< that the interval covers the true median: 0.95 or more from 6 runs on

  double half_width() const { return (high - low) / 2; }
};

/// Values must be finite, and there must be one at least. With fewer than 6 the interval is from
/// the least to the largest, and its confidence is below 0.95.
MedianInterval median_interval(std::vector<double> values);

/// The value below which a quarter of the values lie, interpolated. At least one value.
double lower_quartile(std::vector<double> values);

/// A point's values without those above a fence. A value is above it when it exceeds the median by
/// more than three times the distance from the median down to the least value, and than 0.5 % of
/// the median. Slow runs do not move the fence as long as they are fewer than half. When more than
/// a quarter of the values lie above it they are no exceptions, and all are kept, as are fewer than
/// 6 values.
std::vector<double> without_disturbed(std::vector<double> values);

}  // namespace weft::sweep
