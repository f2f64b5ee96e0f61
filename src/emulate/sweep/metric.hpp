// SPDX-License-Identifier: Apache-2.0
// The quantity that a sweep compares: the program's time, or a number that it prints.
#pragma once

#include <string>
#include <string_view>

#include "weft/result.hpp"

namespace weft::emulate {

/// The unit of a metric. A time is better when it is smaller, a rate when it is larger.
struct MetricUnit {
  std::string name = "s";
  double scale = 1;  ///< seconds, or events per second, of a metric of 1
  bool is_rate = false;
};

/// "s", "ms", "us", "ns"; or a rate: "/s", "k/s", "M/s", "G/s".
Result<MetricUnit> parse_metric_unit(std::string_view text);

struct Metric {
  std::string pattern;  ///< a regular expression of RE2; empty: the program's time
  MetricUnit unit;
  std::string file;  ///< that the program writes, in place of its standard output; or empty

  bool is_time() const { return pattern.empty(); }
  /// Seconds, or seconds per event of a rate: the analysis takes values of which less is better.
  double to_seconds(double value) const;
  /// The metric that has so many seconds.
  double from_seconds(double seconds) const;
};

/// Seconds of which the analysis can form squares and ratios without an overflow.
inline constexpr double least_metric_seconds = 1e-100;
inline constexpr double most_metric_seconds = 1e100;

/// "time", or a regular expression. Refuses one that is none, and one that needs too much memory.
Result<std::string> parse_metric(std::string_view text);

/// The metric's number in a program's output or file: of the last line that matches, the first
/// group in parentheses, or without one the match. Errors (invalid_argument): no line matches; the
/// match is no number above 0, or one of so many or so few seconds that they cannot be compared.
Result<double> find_metric(const Metric& metric, std::string_view output);

}  // namespace weft::emulate
