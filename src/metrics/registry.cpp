// SPDX-License-Identifier: Apache-2.0
#include "metrics/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/check.hpp"

namespace weft::metrics {
namespace {

constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
constexpr std::string_view digits = "0123456789";

bool is_name(std::string_view text, std::string_view extra) {
  const auto is_in = [](char c, std::string_view set) {
    return set.find(c) != std::string_view::npos;
  };
  if (text.empty() || is_in(text.front(), digits)) return false;
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return is_in(c, letters) || is_in(c, digits) || is_in(c, extra);
  });
}

std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\\' || c == '"') {
      out += '\\';
      out += c;
    } else {
      out += c;
    }
  }
  return out;
}

std::string text_of(const Labels& labels) {
  if (labels.empty()) return {};
  std::string out = "{";
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto& [name, value] = labels[i];
    WEFT_CHECK(is_name(name, ""), "\"{}\" cannot be a label's name", name);
    for (std::size_t j = 0; j < i; ++j) {
      WEFT_CHECK(labels[j].first != name, "label \"{}\" is there twice", name);
    }
    out += fmt::format("{}{}=\"{}\"", i == 0 ? "" : ",", name, escape(value));
  }
  return out + "}";
}

std::string text_of(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

template <class Entries>
auto& add_entry(Entries& entries, const std::string& family, const Labels& labels) {
  std::string text = text_of(labels);
  for (const auto& entry : entries) {
    WEFT_CHECK(entry.labels != text, "metric {}{} is there twice", family, text);
  }
  return entries.emplace_back(std::move(text)).metric;
}

}  // namespace

Registry::FamilyEntry& Registry::family_of(const Family& family, Kind kind) {
  for (FamilyEntry& entry : families_) {
    if (entry.family.name != family.name) continue;
    WEFT_CHECK(entry.kind == kind, "{} is a counter and a gauge", family.name);
    return entry;
  }
  WEFT_CHECK(is_name(family.name, ":"), "\"{}\" cannot be a metric's name", family.name);
  WEFT_CHECK(!family.name.ends_with("_total"), "{}: \"_total\" is added", family.name);
  WEFT_CHECK(family.unit.empty() || family.name.ends_with("_" + family.unit),
             "{} does not end with its unit {}", family.name, family.unit);
  return families_.emplace_back(FamilyEntry{family, kind, {}, {}});
}

Counter& Registry::counter(const Family& family, Labels labels) {
  return add_entry(family_of(family, Kind::counter).counters, family.name, labels);
}

Gauge& Registry::gauge(const Family& family, Labels labels) {
  return add_entry(family_of(family, Kind::gauge).gauges, family.name, labels);
}

std::string Registry::exposition() const {
  std::string text;
  const auto out = std::back_inserter(text);
  for (const FamilyEntry& entry : families_) {
    const Family& family = entry.family;
    fmt::format_to(out, "# TYPE {} {}\n", family.name,
                   entry.kind == Kind::counter ? "counter" : "gauge");
    if (!family.unit.empty()) fmt::format_to(out, "# UNIT {} {}\n", family.name, family.unit);
    fmt::format_to(out, "# HELP {} {}\n", family.name, escape(family.help));
    for (const auto& [labels, metric] : entry.counters) {
      fmt::format_to(out, "{}_total{} {}\n", family.name, labels, metric.value());
    }
    for (const auto& [labels, metric] : entry.gauges) {
      fmt::format_to(out, "{}{} {}\n", family.name, labels, text_of(metric.value()));
    }
  }
  text += "# EOF\n";
  return text;
}

}  // namespace weft::metrics
