// SPDX-License-Identifier: Apache-2.0
#include "emulate/sweep/metric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <regex>

namespace weft::emulate {
namespace {

struct KnownUnit {
  const char* name;
  double scale;
  bool is_rate;
};
constexpr std::array known_units{
    KnownUnit{"s", 1, false},     KnownUnit{"ms", 1e-3, false}, KnownUnit{"us", 1e-6, false},
    KnownUnit{"ns", 1e-9, false}, KnownUnit{"/s", 1, true},     KnownUnit{"k/s", 1e3, true},
    KnownUnit{"M/s", 1e6, true},  KnownUnit{"G/s", 1e9, true},
};

/// The library's matcher recurses by character: longer lines could overflow the stack.
constexpr std::size_t longest_line = 4096;
constexpr std::size_t shown_of_line = 80;

/// Seconds of which the analysis can form squares and ratios without an overflow.
constexpr double least_seconds = 1e-100;
constexpr double most_seconds = 1e100;

Error wrong(const Metric& metric, const std::string& what) {
  return {ErrorCode::invalid_argument, fmt::format("--metric '{}': {}", metric.pattern, what)};
}

std::string shown(std::string_view line) {
  return std::string(line.substr(0, shown_of_line));
}

}  // namespace

Result<MetricUnit> parse_metric_unit(std::string_view text) {
  for (const KnownUnit& unit : known_units) {
    if (text == unit.name) return MetricUnit{unit.name, unit.scale, unit.is_rate};
  }
  return Error{
      ErrorCode::invalid_argument,
      fmt::format("'{}' is no unit of a metric: use s, ms, us or ns, or of a rate /s, k/s, "
                  "M/s or G/s",
                  text)};
}

double Metric::to_seconds(double value) const {
  return unit.is_rate ? 1 / (value * unit.scale) : value * unit.scale;
}

double Metric::from_seconds(double seconds) const {
  return unit.is_rate ? 1 / (seconds * unit.scale) : seconds / unit.scale;
}

Result<std::string> parse_metric(std::string_view text) {
  if (text == "time") return std::string();
  try {
    const std::regex compiled{std::string(text)};
  } catch (const std::regex_error& e) {
    return Error{
        ErrorCode::invalid_argument,
        fmt::format("'{}' is no regular expression ({}): give one as 'Time: ([0-9.]+)', or "
                    "time",
                    text, e.what())};
  }
  if (text.empty()) {
    return Error{ErrorCode::invalid_argument, "is empty: give a regular expression, or time"};
  }
  return std::string(text);
}

Result<double> find_metric(const Metric& metric, std::string_view output) {
  const std::regex pattern(metric.pattern);
  std::optional<std::string> found;
  std::string_view last;
  std::size_t lines = 0;
  while (!output.empty()) {
    const std::size_t end = std::min(output.find('\n'), output.size());
    const std::string_view line = output.substr(0, std::min(end, longest_line));
    output.remove_prefix(std::min(end + 1, output.size()));
    ++lines;
    if (!line.empty()) last = line;
    std::cmatch match;
    if (!std::regex_search(line.data(), line.data() + line.size(), match, pattern)) continue;
    found = match.size() > 1 ? match[1].str() : match[0].str();
  }
  if (!found && lines == 0) {
    return wrong(metric, metric.file.empty() ? "the program printed nothing: --metric-file names a "
                                               "file that it writes"
                                             : fmt::format("{} is empty", metric.file));
  }
  if (!found) {
    return wrong(metric,
                 fmt::format("matches none of the {} lines {}, of which the last is '{}'", lines,
                             metric.file.empty() ? "that the program printed" : "of " + metric.file,
                             shown(last)));
  }
  char* end = nullptr;
  const double value = std::strtod(found->c_str(), &end);
  if (found->empty() || *end != '\0') {
    return wrong(metric, fmt::format("matches '{}', which is no number: put the number in "
                                     "parentheses, as 'Time: ([0-9.]+)'",
                                     shown(*found)));
  }
  if (!std::isfinite(value) || value <= 0) {
    return wrong(metric,
                 fmt::format("is {}, which cannot be compared: it must be above 0", *found));
  }
  const double seconds = metric.to_seconds(value);
  if (!(seconds >= least_seconds && seconds <= most_seconds)) {
    return wrong(metric, fmt::format("is {} {}, which is {:.3g} s and cannot be compared: it must "
                                     "lie between 1e-100 s and 1e100 s; is the --unit right?",
                                     *found, metric.unit.name, seconds));
  }
  return value;
}

}  // namespace weft::emulate
