// SPDX-License-Identifier: Apache-2.0
#include "emulate/sweep/record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/units.hpp"

namespace weft::emulate {
namespace {

using Json = nlohmann::ordered_json;
using sweep::Analysis;

constexpr double ns_per_s = 1e9;
constexpr std::size_t five_percent = 1;  // of sweep::slow_downs

Json known(const std::optional<double>& value, double scale = 1) {
  return value ? Json(*value * scale) : Json();
}

/// Median and interval in the metric's own unit; the interval of a rate is the other way round.
Json to_json(const PointOutcome& p, const Metric& metric) {
  const double low = metric.from_seconds(p.seconds.low);
  const double high = metric.from_seconds(p.seconds.high);
  return {{"latency_ns", p.point.latency.to_nanoseconds()},
          {"bandwidth_fraction", p.point.bandwidth},
          {"median", metric.from_seconds(p.seconds.median)},
          {"low", std::min(low, high)},
          {"high", std::max(low, high)},
          {"confidence", p.seconds.confidence},
          {"precise", p.is_precise},
          {"runs", p.runs},
          {"rejected", p.rejected}};
}

Json by_slow_down(const std::array<std::optional<double>, sweep::slow_downs.size()>& values,
                  double scale) {
  Json json = Json::object();
  for (std::size_t i = 0; i < values.size(); ++i) {
    json[fmt::format("{:.0f}%", sweep::slow_downs[i] * 100)] = known(values[i], scale);
  }
  return json;
}

Json to_json(const sweep::FittedModel& fitted) {
  Json pieces = Json::array();
  for (const sweep::Piece& p : fitted.model.pieces()) {
    pieces.push_back(
        {{"fixed_s", p.fixed_s}, {"messages", p.messages}, {"transfer_s", p.transfer_s}});
  }
  return {{"pieces", std::move(pieces)},
          {"error", fitted.left_out_error},
          {"fit_error", fitted.fit_error},
          {"faster_error", known(fitted.faster_error)}};
}

Json scaled(const std::vector<double>& values, double scale) {
  Json json = Json::array();
  for (const double value : values) json.push_back(value * scale);
  return json;
}

void add_analysis(Json& json, const Analysis& a) {
  json["slope"] = known(a.slope);
  json["slope_at_baseline"] = known(a.slope_at_baseline);
  json["round_trips"] = known(a.slope, 0.5);
  json["tolerance"] = by_slow_down(a.tolerance_s, ns_per_s);
  json["headroom"] = by_slow_down(a.headroom, 1);
  json["knees"] = {{"latency_ns", scaled(a.latency_knees_s, ns_per_s)},
                   {"bandwidth_fraction", a.bandwidth_knees}};
  json["model"] = to_json(a.fitted);
}

std::string percent_text(double fraction) {
  return fmt::format("{:.{}f} %", fraction * 100, fraction < 0.1 ? 1 : 0);
}

/// "2.1 us more latency", or that the largest one is tolerated. Empty when it was not varied.
std::string tolerated_latency(const SweepOutcome& outcome) {
  const Analysis& a = *outcome.analysis;
  if (!a.slope) return {};
  const auto& tolerated = a.tolerance_s[five_percent];
  if (tolerated) return fmt::format("{} more latency", latency_text(*tolerated));
  return fmt::format("{} more latency, the most that was tried",
                     to_text(outcome.question.latencies.back()));
}

std::string tolerated_bandwidth(const SweepOutcome& outcome) {
  const Analysis& a = *outcome.analysis;
  if (!a.transfer_s) return {};
  const auto& enough = a.headroom[five_percent];
  if (enough) return fmt::format("{} of the bandwidth", percent_text(*enough));
  return fmt::format("{} of the bandwidth, the least that was tried",
                     percent_text(outcome.question.bandwidths.back()));
}

/// The cost of a microsecond, and its reason. Empty when it costs nothing.
std::string cost_of_latency(const Analysis& a) {
  if (!a.slope) return {};
  const double longest = a.fitted.model.predict_s(a.baseline);
  if (*a.slope * 1e-6 < 1e-4 * longest) return {};
  return fmt::format(
      "; each microsecond {}costs {}: {} messages follow one another, {} round trips",
      a.latency_knees_s.empty() ? ""
                                : fmt::format("beyond {} ", latency_text(a.latency_knees_s[0])),
      latency_text(*a.slope * 1e-6), count_text(*a.slope), count_text(*a.slope / 2));
}

/// What keeps the figures from being exact, as a sentence of its own. Empty: nothing does.
std::string doubt(const SweepOutcome& outcome) {
  std::size_t wide = 0;
  double widest = 0;
  for (const PointOutcome& p : outcome.points) {
    if (p.is_precise) continue;
    ++wide;
    widest = std::max(widest, p.seconds.half_width() / p.seconds.median);
  }
  if (wide == 0) return {};
  return fmt::format(
      " These figures {}: {} of {} points {} not known to ± {:.4g} % (the widest interval is "
      "± {:.1f} %).",
      widest < sweep::slow_downs[five_percent] ? "are uncertain" : "mean little", wide,
      outcome.points.size(), wide == 1 ? "is" : "are", outcome.precision * 100, widest * 100);
}

}  // namespace

std::string latency_text(double seconds) {
  const double magnitude = std::abs(seconds);
  constexpr double rounds_up = 0.9995;
  if (magnitude >= rounds_up) return fmt::format("{:.3g} s", seconds);
  if (magnitude >= rounds_up * 1e-3) return fmt::format("{:.3g} ms", seconds * 1e3);
  if (magnitude >= rounds_up * 1e-6) return fmt::format("{:.3g} us", seconds * 1e6);
  return fmt::format("{:.3g} ns", seconds * 1e9);
}

std::string count_text(double count) {
  if (count < 100) return fmt::format("{:.3g}", count);
  // Three digits: a fitted slope has no more.
  const double unit = std::pow(10, std::floor(std::log10(count)) - 2);
  const std::string digits = fmt::format("{:.0f}", std::round(count / unit) * unit);
  std::string grouped;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) grouped += ',';
    grouped += digits[i];
  }
  return grouped;
}

std::string to_json_text(const SweepOutcome& outcome, std::string_view command_line) {
  const Metric& metric = outcome.question.metric;
  const SweepGround& ground = outcome.ground;
  Json points = Json::array();
  for (const PointOutcome& p : outcome.points) points.push_back(to_json(p, metric));
  Json json = {{"sweep", command_line},
               {"command", outcome.question.command},
               {"metric", metric.is_time() ? "time" : metric.pattern},
               {"unit", metric.unit.name},
               {"interposer", ground.interposer},
               {"ranks", ground.ranks},
               {"latency_ns", {{"native", known(ground.latency_ns)}}},
               {"bandwidth_bytes_per_s", {{"native", known(ground.bandwidth_bytes_per_s)}}},
               {"points", std::move(points)}};
  if (outcome.analysis) {
    add_analysis(json, *outcome.analysis);
    json["needs"] = needs_of(outcome);
  }
  Json predictions = Json::array();
  for (const Prediction& p : outcome.predictions) {
    predictions.push_back({{"latency_ns", p.point.latency_s * ns_per_s},
                           {"bandwidth_fraction", p.point.bandwidth},
                           {"value", metric.from_seconds(p.seconds)}});
  }
  json["predictions"] = std::move(predictions);
  json["warnings"] = outcome.warnings;
  // Words of a command need not be UTF-8, and a sweep that is measured is not lost for them.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string needs_of(const SweepOutcome& outcome) {
  const Analysis& a = *outcome.analysis;
  const std::string latency = tolerated_latency(outcome);
  const std::string bandwidth = tolerated_bandwidth(outcome);
  if (latency.empty() && bandwidth.empty()) return "One network was tried: it says nothing.";
  return fmt::format("The program tolerates {}{}{}, with at most 5 % slow-down{}.{}", latency,
                     latency.empty() || bandwidth.empty() ? "" : ", or ", bandwidth,
                     cost_of_latency(a), doubt(outcome));
}

}  // namespace weft::emulate
