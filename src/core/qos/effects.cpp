// SPDX-License-Identifier: Apache-2.0
#include "core/qos/effects.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.hpp"

namespace weft::qos {
namespace {

constexpr double doubt_of_own = 1;
/// Of a fit; the next one goes on.
constexpr int most_rounds = 30;
constexpr double converged = 1e-5;
constexpr double least_worth = 1e-6;

}  // namespace

Effects::Effects(std::vector<Choice> choices, std::size_t jobs, double doubt)
    : doubt_(doubt), choices_(std::move(choices)) {
  std::size_t all = 0;
  for (const Choice& choice : choices_) {
    WEFT_CHECK(choice.options <= 256, "{} options", choice.options);
    first_.push_back(all);
    all += choice.options;
  }
  trials_.assign(all, 0);
  taken_.resize(choices_.size());
  effects_.assign(jobs, std::vector<double>(all));
  draws_.resize(jobs);
  rest_.resize(jobs);
}

void Effects::add(const Taken& taken, const Gains& gains, std::uint32_t draw) {
  for (std::size_t c = 0; c < taken.size(); ++c) {
    ++trials_[first_[c] + taken[c]];
    taken_[c].push_back(static_cast<std::uint8_t>(taken[c]));
  }
  draw_.push_back(draw);
  if (trials_of_draw_.size() <= draw) trials_of_draw_.resize(draw + std::size_t{1});
  ++trials_of_draw_[draw];
  for (std::size_t job = 0; job < effects_.size(); ++job) {
    if (draws_[job].size() <= draw) draws_[job].resize(draw + std::size_t{1});
    double rest = gains[job] - draws_[job][draw];
    for (std::size_t c = 0; c < taken.size(); ++c) rest -= of(c, taken[c], job);
    rest_[job].push_back(rest);
  }
}

void Effects::fit() {
  for (std::size_t job = 0; job < effects_.size(); ++job) {
    double most = 1;
    for (int round = 0; round < most_rounds && most > converged; ++round) {
      explain_draws(job);
      most = 0;
      for (std::size_t c = 0; c < choices_.size(); ++c) most = std::max(most, explain(c, job));
    }
  }
}

/// Explains what is left of a job's gains by what trials of the same draw have in common.
void Effects::explain_draws(std::size_t job) {
  std::vector<double>& rest = rest_[job];
  std::vector<double> steps(trials_of_draw_.size());
  for (std::size_t t = 0; t < rest.size(); ++t) steps[draw_[t]] += rest[t];
  for (std::size_t d = 0; d < steps.size(); ++d) {
    steps[d] /= std::max(trials_of_draw_[d], 1.0);
    draws_[job][d] += steps[d];
  }
  for (std::size_t t = 0; t < rest.size(); ++t) rest[t] -= steps[draw_[t]];
}

/// Explains what is left of a job's gains by the options of one choice. Returns the largest change
/// of an effect.
double Effects::explain(std::size_t choice, std::size_t job) {
  const double doubt = choices_[choice].job == job ? doubt_of_own : doubt_;
  const std::vector<std::uint8_t>& taken = taken_[choice];
  std::vector<double>& rest = rest_[job];
  std::vector<double> steps(choices_[choice].options);
  for (std::size_t t = 0; t < rest.size(); ++t) steps[taken[t]] += rest[t];
  double most = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    double& effect = effects_[job][first_[choice] + i];
    steps[i] = (steps[i] - doubt * effect) / (trials_[first_[choice] + i] + doubt);
    effect += steps[i];
    most = std::max(most, std::abs(steps[i]));
  }
  for (std::size_t t = 0; t < rest.size(); ++t) rest[t] -= steps[taken[t]];
  return most;
}

/// From some options to better ones, a change at a time.
class Effects::Ascent {
 public:
  Ascent(const Effects& effects, const Taken& from, const Gains& gains, std::size_t farthest)
      : effects_(effects),
        from_(from),
        farthest_(farthest),
        taken_(from),
        gains_(gains),
        changed_(effects.effects_.size(), none) {}

  /// Makes the change that is worth the most. False: none is worth anything.
  bool step(const Value& value) {
    double most = value(gains_) + least_worth;
    std::size_t top = none, top_option = 0;
    for (std::size_t c = 0; c < from_.size(); ++c) {
      const std::size_t least = from_[c] - std::min(from_[c], farthest_);
      const std::size_t last =
          std::min(effects_.choices_[c].options - 1, from_[c] + std::min(farthest_, last_option));
      for (std::size_t option = least; option <= last; ++option) {
        const double worth = value(with(c, option));
        if (worth <= most) continue;
        most = worth;
        top = c;
        top_option = option;
      }
    }
    if (top == none) return false;
    gains_ = with(top, top_option);
    std::size_t& changed = changed_[effects_.choices_[top].job];
    if (changed != none) taken_[changed] = from_[changed];
    taken_[top] = top_option;
    changed = top;
    return true;
  }
  const Taken& taken() const { return taken_; }

 private:
  static constexpr std::size_t none = ~std::size_t{0};
  static constexpr std::size_t last_option = 1'000'000;  // of any choice

  /// The gains if this option is taken, in place of any other change of its job.
  Gains with(std::size_t choice, std::size_t option) const {
    Gains gains = gains_;
    const std::size_t changed = changed_[effects_.choices_[choice].job];
    for (std::size_t j = 0; j < gains.size(); ++j) {
      gains[j] += effects_.of(choice, option, j) - effects_.of(choice, taken_[choice], j);
      if (changed == none || changed == choice) continue;
      gains[j] +=
          effects_.of(changed, from_[changed], j) - effects_.of(changed, taken_[changed], j);
    }
    return gains;
  }

  const Effects& effects_;
  const Taken& from_;
  const std::size_t farthest_;
  Taken taken_;
  Gains gains_;
  std::vector<std::size_t> changed_;  // by job: its choice that differs
};

Effects::Taken Effects::better(const Taken& from, const Gains& gains, std::size_t farthest,
                               std::size_t most_changes, const Value& value) const {
  Ascent ascent(*this, from, gains, farthest);
  while (most_changes > 0 && ascent.step(value)) --most_changes;
  return ascent.taken();
}

}  // namespace weft::qos
