// SPDX-License-Identifier: Apache-2.0
#include "stream/sources/pace.hpp"

#include <algorithm>
#include <cmath>

#include "base/make_error.hpp"
#include "base/number_text.hpp"

namespace weft {
namespace {

constexpr double longest_plan_ns = 4e18;  // 126 years, within Instant's range

std::optional<double> parse_positive(std::string_view text) {
  const auto value = parse_number<double>(text);
  return value && std::isfinite(*value) && *value >= 1e-9 ? value : std::nullopt;
}

}  // namespace

Result<Rate> Rate::parse(std::string_view text) {
  if (text == "max") return Rate{};
  if (text == "native") return Rate{Kind::native, 1};
  if (text.starts_with('x')) {
    if (const auto factor = parse_positive(text.substr(1))) return Rate{Kind::native, *factor};
  }
  constexpr std::pair<std::string_view, double> units[] = {{"MHz", 1e6}, {"kHz", 1e3}, {"Hz", 1}};
  for (const auto& [unit, factor] : units) {
    if (!text.ends_with(unit)) continue;
    const auto number = parse_positive(text.substr(0, text.size() - unit.size()));
    if (number) return Rate{Kind::frequency, *number * factor};
    break;
  }
  return invalid("'{}' is no rate; write max, native, x2.5 or 100Hz", text);
}

Instant Pace::due(Instant now, std::uint64_t index) {
  if (rate_.kind == Rate::Kind::max) return now;
  if (!start_) {
    start_ = now;
    first_index_ = index;
    produced_ = 0;
  }
  double after_ns = 0;
  if (rate_.kind == Rate::Kind::frequency) {
    after_ns = static_cast<double>(produced_) / rate_.value * 1e9;
  } else if (index > first_index_) {
    after_ns = static_cast<double>(index - first_index_) / rate_.value;
  }
  return *start_ + Duration(static_cast<std::int64_t>(std::min(after_ns, longest_plan_ns)));
}

void Pace::restart() {
  start_.reset();
  produced_ = 0;
}

}  // namespace weft
