// SPDX-License-Identifier: Apache-2.0
#include "emulate/sweep/metric.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "base/make_error.hpp"

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

constexpr std::size_t shown_of_line = 80;

/// RE2 searches a line in a time that grows linearly with it, whatever the pattern, and without
/// recursion; a pattern that would need more memory than this is refused.
constexpr std::int64_t most_pattern_bytes = 1 << 20;

RE2::Options pattern_options() {
  // Bytes are characters, since a program's output need not be UTF-8.
  RE2::Options options(RE2::Latin1);
  options.set_log_errors(false);
  options.set_max_mem(most_pattern_bytes);
  return options;
}

Error wrong(const Metric& metric, const std::string& what) {
  return invalid("--metric '{}': {}", metric.pattern, what);
}

std::string shown(std::string_view line) {
  return std::string(line.substr(0, shown_of_line));
}

}  // namespace

Result<MetricUnit> parse_metric_unit(std::string_view text) {
  for (const KnownUnit& unit : known_units) {
    if (text == unit.name) return MetricUnit{unit.name, unit.scale, unit.is_rate};
  }
  return invalid(
      "'{}' is no unit of a metric: use s, ms, us or ns, or of a rate /s, k/s, M/s or G/s", text);
}

double Metric::to_seconds(double value) const {
  return unit.is_rate ? 1 / (value * unit.scale) : value * unit.scale;
}

double Metric::from_seconds(double seconds) const {
  return unit.is_rate ? 1 / (seconds * unit.scale) : seconds / unit.scale;
}

Result<std::string> parse_metric(std::string_view text) {
  if (text == "time") return std::string();
  if (text.empty()) {
    return Error{ErrorCode::invalid_argument, "is empty: give a regular expression, or time"};
  }
  const RE2 compiled(re2::StringPiece(text.data(), text.size()), pattern_options());
  if (compiled.ok()) return std::string(text);
  return invalid(
      "'{}' is no regular expression of RE2 ({}): give one as 'Time: ([0-9.]+)', or time",
      shown(text), compiled.error());
}

Result<double> find_metric(const Metric& metric, std::string_view output) {
  const RE2 pattern(metric.pattern, pattern_options());
  const int group = std::min(pattern.NumberOfCapturingGroups(), 1);
  std::optional<std::string> found;
  std::string_view last;
  std::size_t lines = 0;
  while (!output.empty()) {
    const std::size_t end = std::min(output.find('\n'), output.size());
    const std::string_view line = output.substr(0, end);
    output.remove_prefix(std::min(end + 1, output.size()));
    ++lines;
    if (!line.empty()) last = line;
    std::array<re2::StringPiece, 2> groups;
    if (!pattern.Match({line.data(), line.size()}, 0, line.size(), RE2::UNANCHORED, groups.data(),
                       static_cast<int>(groups.size()))) {
      continue;
    }
    found.emplace(groups[group].data(), groups[group].size());
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
                 fmt::format("is {}, which cannot be compared: it must be above 0", shown(*found)));
  }
  const double seconds = metric.to_seconds(value);
  if (!(seconds >= least_metric_seconds && seconds <= most_metric_seconds)) {
    return wrong(metric, fmt::format("is {} {}, which is {:.3g} s and cannot be compared: it must "
                                     "lie between 1e-100 s and 1e100 s; is the --unit right?",
                                     shown(*found), metric.unit.name, seconds));
  }
  return value;
}

}  // namespace weft::emulate
