// SPDX-License-Identifier: Apache-2.0
#include "core/sweep/plan.hpp"

#include <algorithm>
#include <cmath>

#include "base/check.hpp"

namespace weft::sweep {

SweepPlan::SweepPlan(const PlanOptions& options)
    : options_(options), rng_(options.seed), samples_(options.points), usual_(options.points) {
  WEFT_CHECK(options.points > 0 && options.least_runs > 0);
}

void SweepPlan::add(std::size_t point, const Sample& sample) {
  WEFT_CHECK(point < samples_.size() && std::isfinite(sample.value));
  samples_[point].push_back(sample);
  ++runs_;
  std::vector<double> stolen, waiting;
  for (const Sample& s : samples_[point]) {
    stolen.push_back(s.stolen);
    waiting.push_back(s.waiting);
  }
  usual_[point] = {lower_quartile(std::move(stolen)), lower_quartile(std::move(waiting))};
}

bool SweepPlan::is_crowded(const Sample& sample, const Usual& usual) const {
  return sample.stolen > usual.stolen + options_.most_stolen ||
         sample.waiting > usual.waiting + options_.most_waiting;
}

PointState SweepPlan::state(std::size_t point) const {
  PointState state;
  for (const Sample& sample : samples_[point]) {
    ++state.runs;
    if (!is_crowded(sample, usual_[point])) state.accepted.push_back(sample.value);
  }
  state.rejected = state.runs - static_cast<std::uint32_t>(state.accepted.size());
  if (!state.accepted.empty()) state.interval = median_interval(state.accepted);
  return state;
}

bool SweepPlan::is_settled(std::size_t point) const {
  if (samples_[point].size() >= options_.most_runs) return true;
  if (samples_[point].size() < options_.least_runs) return false;
  const PointState now = state(point);
  return now.accepted.size() >= options_.least_runs &&
         now.interval->half_width() <= options_.precision * std::abs(now.interval->median);
}

std::size_t SweepPlan::settled() const {
  std::size_t count = 0;
  for (std::size_t p = 0; p < samples_.size(); ++p) count += is_settled(p) ? 1 : 0;
  return count;
}

std::size_t SweepPlan::missing() const {
  std::size_t count = 0;
  for (std::size_t p = 0; p < samples_.size(); ++p) count += state(p).interval ? 0 : 1;
  return count;
}

double SweepPlan::expected_wall_s(std::size_t point) const {
  double longest = 0;
  for (const Sample& sample : samples_[point]) longest = std::max(longest, sample.wall_s);
  return longest;
}

void SweepPlan::begin_round() {
  for (std::size_t p = 0; p < samples_.size(); ++p) {
    if (!is_settled(p)) round_.push_back(p);
  }
  for (std::size_t i = round_.size(); i > 1; --i) {
    std::swap(round_[i - 1], round_[rng_.below(i)]);
  }
  // A resumed sweep, or one whose runs were rejected: points with fewer runs come first.
  std::stable_sort(round_.begin(), round_.end(), [this](std::size_t a, std::size_t b) {
    return samples_[a].size() > samples_[b].size();
  });
}

std::optional<std::size_t> SweepPlan::next(Duration elapsed) {
  const double left_s = (options_.budget - elapsed).to_seconds();
  for (int round = 0; round < 2; ++round) {
    if (round_.empty()) begin_round();
    while (!round_.empty()) {
      const std::size_t point = round_.back();
      round_.pop_back();
      if (left_s > 0 && expected_wall_s(point) <= left_s && !is_settled(point)) return point;
    }
  }
  return std::nullopt;
}

double SweepPlan::progress(Duration elapsed) const {
  double done = 0;
  for (std::size_t p = 0; p < samples_.size(); ++p) {
    const double of_needed = static_cast<double>(samples_[p].size()) / options_.least_runs;
    done += is_settled(p) ? 1 : std::min(of_needed, 0.9);
  }
  const double by_points = done / static_cast<double>(samples_.size());
  const double by_budget = elapsed.to_seconds() / options_.budget.to_seconds();
  return std::clamp(std::max(by_points, by_budget), 0.0, 1.0);
}

}  // namespace weft::sweep
