// SPDX-License-Identifier: Apache-2.0
#include "core/sweep/analysis.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace weft::sweep {
namespace {

/// A slope that differs less is the same one.
constexpr double least_change = 0.02;

/// One point of a curve: how slow the network is (latency, or the inverse of bandwidth), and how
/// long the program took.
struct Place {
  double slowness = 0;
  double time_s = 0;
};

/// The curve that never falls and is nearest to the given one: neighbours in the wrong order are
/// averaged (pool adjacent violators).
std::vector<Place> rising(std::vector<Place> curve) {
  std::sort(curve.begin(), curve.end(),
            [](const Place& a, const Place& b) { return a.slowness < b.slowness; });
  std::vector<std::pair<double, std::size_t>> pools;  // mean, how many
  for (const Place& place : curve) {
    pools.emplace_back(place.time_s, 1);
    while (pools.size() > 1 && pools[pools.size() - 2].first > pools.back().first) {
      const auto [mean, count] = pools.back();
      pools.pop_back();
      auto& [before, of] = pools.back();
      before = (before * static_cast<double>(of) + mean * static_cast<double>(count)) /
               static_cast<double>(of + count);
      of += count;
    }
  }
  std::size_t at = 0;
  for (const auto& [mean, count] : pools) {
    for (std::size_t i = 0; i < count; ++i) curve[at++].time_s = mean;
  }
  return curve;
}

/// The largest slowness with a time of at most `limit`; none when the whole curve is within it.
std::optional<double> largest_within(const std::vector<Place>& curve, double limit_s) {
  for (std::size_t i = 0; i < curve.size(); ++i) {
    if (curve[i].time_s <= limit_s) continue;
    if (i == 0) return curve[0].slowness;
    const Place& a = curve[i - 1];
    const Place& b = curve[i];
    return a.slowness + (b.slowness - a.slowness) * (limit_s - a.time_s) / (b.time_s - a.time_s);
  }
  return std::nullopt;
}

/// A line: time = at_zero + slope * slowness.
struct Line {
  double at_zero = 0;
  double slope = 0;
};

/// The points at which the largest of the lines changes, between two slownesses, and to a slope
/// that differs by more than a little of the curve.
std::vector<double> knees_of(std::vector<Line> lines, double from, double to) {
  const auto value = [](const Line& line, double at) { return line.at_zero + line.slope * at; };
  const auto top = [&](double at) {
    return *std::max_element(lines.begin(), lines.end(), [&](const Line& a, const Line& b) {
      return std::pair(value(a, at), a.slope) < std::pair(value(b, at), b.slope);
    });
  };
  std::vector<double> knees;
  Line now = top(from);
  const double total = value(top(to), to);
  for (double at = from; at < to;) {
    std::optional<std::pair<double, Line>> next;
    for (const Line& line : lines) {
      if (line.slope <= now.slope) continue;
      const double meets = (now.at_zero - line.at_zero) / (line.slope - now.slope);
      if (meets >= to || (next && meets >= next->first)) continue;
      next = {std::max(meets, at), line};
    }
    if (!next) break;
    const double change_s = (next->second.slope - now.slope) * (to - next->first);
    if (next->first > from && change_s > least_change * total) knees.push_back(next->first);
    at = next->first;
    now = next->second;
  }
  return knees;
}

/// The points of the row or column through the baseline, and the model's lines there.
class Section {
 public:
  Section(std::span<const Observation> observations, const Point& baseline, bool of_latency) {
    for (const Observation& o : observations) {
      const bool on_it = of_latency ? o.point.bandwidth == baseline.bandwidth
                                    : o.point.latency_s == baseline.latency_s;
      const double slowness = of_latency ? o.point.latency_s : 1 / o.point.bandwidth;
      if (on_it) curve_.push_back({slowness, o.time_s});
    }
    curve_ = rising(std::move(curve_));
  }

  bool is_varied() const { return curve_.size() > 1; }
  double first() const { return curve_.front().slowness; }
  double last() const { return curve_.back().slowness; }
  std::optional<double> tolerates(double slow_down) const {
    if (!is_varied()) return std::nullopt;
    return largest_within(curve_, curve_.front().time_s * (1 + slow_down));
  }

 private:
  std::vector<Place> curve_;
};

void add_latency(Analysis& analysis, const Section& section) {
  if (!section.is_varied()) return;
  const Model& model = analysis.fitted.model;
  const double g = 1 / analysis.baseline.bandwidth;
  const Point slowest{section.last(), analysis.baseline.bandwidth};
  analysis.slope_at_baseline = model.deciding(analysis.baseline).messages;
  analysis.slope = model.deciding(slowest).messages;
  std::vector<Line> lines;
  for (const Piece& p : model.pieces()) lines.push_back({p.fixed_s + p.transfer_s * g, p.messages});
  analysis.latency_knees_s = knees_of(std::move(lines), section.first(), section.last());
}

void add_bandwidth(Analysis& analysis, const Section& section) {
  if (!section.is_varied()) return;
  const Model& model = analysis.fitted.model;
  const double latency_s = analysis.baseline.latency_s;
  analysis.transfer_s = model.deciding({latency_s, 1 / section.last()}).transfer_s;
  std::vector<Line> lines;
  for (const Piece& p : model.pieces()) {
    lines.push_back({p.fixed_s + p.messages * latency_s, p.transfer_s});
  }
  for (const double g : knees_of(std::move(lines), section.first(), section.last())) {
    analysis.bandwidth_knees.push_back(1 / g);
  }
}

}  // namespace

Analysis analyse(std::span<const Observation> observations) {
  WEFT_CHECK(!observations.empty());
  const auto baseline = std::min_element(observations.begin(), observations.end(),
                                         [](const Observation& a, const Observation& b) {
                                           return std::pair(a.point.latency_s, -a.point.bandwidth) <
                                                  std::pair(b.point.latency_s, -b.point.bandwidth);
                                         });
  Analysis analysis;
  analysis.baseline = baseline->point;
  analysis.baseline_s = baseline->time_s;
  analysis.fitted = fit_model(observations);
  const Section latency(observations, baseline->point, true);
  const Section bandwidth(observations, baseline->point, false);
  for (std::size_t i = 0; i < slow_downs.size(); ++i) {
    analysis.tolerance_s[i] = latency.tolerates(slow_downs[i]);
    const auto slowness = bandwidth.tolerates(slow_downs[i]);
    if (slowness) analysis.headroom[i] = 1 / *slowness;
  }
  add_latency(analysis, latency);
  add_bandwidth(analysis, bandwidth);
  return analysis;
}

}  // namespace weft::sweep
