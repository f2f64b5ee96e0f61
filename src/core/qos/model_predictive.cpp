// SPDX-License-Identifier: Apache-2.0
#include "core/qos/model_predictive.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/check.hpp"

namespace weft::qos {
namespace {

/// Iterations of the slowest job in a prediction: fewer hide what levels change.
constexpr double enough_iterations = 60;
constexpr double least_share = 0.02;
constexpr double least_gain_of_trial = 0.0005;
/// A trial ends when its mean utility is lower than the best one's by this, over one more.
constexpr double racing_margin = 0.001;
constexpr std::uint32_t windows_of_a_look = 16;
constexpr double harm = -0.01;
/// The loss of a job that counts as it is: noise; and, where isolation would give jobs much on
/// average, a share of that beyond a tenth. There hardly anything helps one job and costs no other
/// one more than noise.
constexpr double least_bearable = 0.005;
constexpr double most_bearable = 0.04;
constexpr double much = 0.1;
constexpr double bearable_share = 0.2;
/// Prices of a larger loss. With the last one alone a search would not get past levels that harm a
/// job for now.
constexpr double price_at_first = 15;
constexpr double price_at_last = 60;
/// Losses of up to so many standard errors may be noise, before the last draw and after it. Of many
/// jobs some lose by noise in every trial, and with prices alone no trial would be better than
/// default, which never loses.
constexpr double errors_of_race = 1.5;
constexpr double errors_at_end = 0.5;
/// A job that loses more than this to others is worth a trial.
constexpr double hindered = 0.01;

/// Whole iterations hide a change by less than one of them.
double work_of(const JobWindow& job) {
  return job.progress.empty() ? static_cast<double>(job.work())
                              : *std::ranges::min_element(job.progress);
}

/// The value of gains that a twin predicts: their mean, in which losses that a reader of results
/// would notice are nearly forbidden. Noise of windows would hide these; predictions have less.
double value_of(std::span<const double> gains, double bearable, double price) {
  double sum = 0;
  for (const double gain : gains) {
    sum += gain < -bearable ? -bearable + price * (gain + bearable) : gain;
  }
  return sum / static_cast<double>(std::max<std::size_t>(gains.size(), 1));
}

/// The relative standard deviation of jobs' work between draws, of all jobs together.
double noise_of(std::span<const std::vector<double>> work_by_draw) {
  double squares = 0;
  std::size_t degrees = 0;
  for (std::size_t j = 0; j < work_by_draw.front().size(); ++j) {
    double sum = 0;
    for (const auto& work : work_by_draw) sum += work[j];
    const double mean = sum / static_cast<double>(work_by_draw.size());
    for (const auto& work : work_by_draw) squares += std::pow(work[j] / mean - 1, 2);
    degrees += work_by_draw.size() - 1;
  }
  return degrees == 0 ? 0 : std::sqrt(squares / static_cast<double>(degrees));
}

}  // namespace

ModelPredictive::Gains ModelPredictive::Trial::mean_gains(std::size_t draws) const {
  Gains mean(gains.front().size());
  for (std::size_t d = 0; d < draws; ++d) {
    for (std::size_t j = 0; j < mean.size(); ++j) {
      mean[j] += gains[d][j] / static_cast<double>(draws);
    }
  }
  return mean;
}

ModelPredictive::ModelPredictive(const ModelPredictiveOptions& options, Twin& twin)
    : options_(options), twin_(twin), moves_({}) {
  WEFT_CHECK(options.default_windows >= 1 && options.draws >= 1);
}

void ModelPredictive::on_jobs(std::span<const JobFacts> jobs) {
  moves_ = LevelMoves(jobs);
  now_ = configuration_of(moves_.middle());
  settled_ = false;
  windows_ = 0;
  found_.clear();
  default_work_.assign(jobs.size(), 0);
}

void ModelPredictive::on_window(std::span<const JobWindow> jobs) {
  WEFT_CHECK(jobs.size() == moves_.jobs(), "{} jobs, but {} were announced", jobs.size(),
             moves_.jobs());
  if (settled_) return watch(jobs);
  for (std::size_t j = 0; j < jobs.size(); ++j) default_work_[j] += work_of(jobs[j]);
  if (++windows_ < options_.default_windows) return;
  search();
  now_ = configuration_of(best_.rungs);
  settled_ = true;
  watched_.assign(jobs.size(), 0);
  watched_windows_ = 0;
}

void ModelPredictive::search() {
  const auto least = std::min_element(default_work_.begin(), default_work_.end());
  const double iterations = least == default_work_.end() ? 0 : *least / windows_;
  share_ = std::clamp(enough_iterations / std::max(iterations, 1.0), least_share, 1.0);
  predictions_ = 0;
  failed_ = false;
  base_work_.clear();
  bound_.clear();
  price_ = price_at_first;
  draws_ = options_.draws;
  limit_ = options_.budget / 2;
  improve_from({});
  if (failed_ || found_.empty()) return;
  std::ranges::reverse(found_);
  price_ = price_at_last;
  draws_ = 2 * options_.draws;
  limit_ = options_.budget;
  improve_from(std::exchange(found_, {}));
}

/// Searches for the best levels, from the default and from `starts`; without these from groups.
void ModelPredictive::improve_from(std::vector<Rungs> starts) {
  best_ = {.rungs = moves_.middle(), .gains = std::vector<Gains>(draws_, Gains(moves_.jobs()))};
  tried_ = {best_.rungs};
  found_.clear();
  if (!predict_default() || !predict_alone()) return;
  if (starts.empty()) starts = moves_.starts();
  for (const Rungs& start : starts) consider(start);
  starts.push_back(moves_.middle());
  mix(starts);
  improve();
}

void ModelPredictive::improve() {
  auto list = moves();
  std::size_t without_gain = 0;
  for (std::size_t i = 0; without_gain < list.size() && has_budget(); ++i) {
    ++without_gain;
    if (!consider(list[i % list.size()])) continue;
    list = moves();
    without_gain = 0;
  }
}

/// Gives each job in turn the levels that it has in one of the starts, as long as that helps: a
/// start that suits one job may harm another.
void ModelPredictive::mix(std::span<const Rungs> starts) {
  for (bool helped = true; helped && has_budget();) {
    helped = false;
    for (const std::size_t j : most_hindered_first(best_.mean_gains(draws_))) {
      for (const Rungs& start : starts) {
        if (consider(moves_.with_job(best_.rungs, j, start))) helped = true;
      }
    }
  }
}

/// The twin on default: what trials are compared with, and the slack of processes.
bool ModelPredictive::predict_default() {
  for (auto draw = static_cast<std::uint32_t>(base_work_.size()); draw < draws_; ++draw) {
    const auto jobs = predict(best_.rungs, draw);
    if (failed_) return false;
    auto& work = base_work_.emplace_back();
    for (const JobWindow& job : jobs) work.push_back(std::max(work_of(job), 1.0));
    moves_.observe(jobs);
  }
  moves_.find_slack();
  noise_ = noise_of(base_work_);
  return true;
}

bool ModelPredictive::predict_alone() {
  for (std::size_t j = bound_.size(); j < moves_.jobs(); ++j) {
    const auto work = twin_.predict_alone(j, 0, share_);
    failed_ = !work;
    if (failed_) return false;
    bound_.push_back(*work / base_work_[0][j] - 1);
  }
  const double mean = std::accumulate(bound_.begin(), bound_.end(), 0.0) /
                      static_cast<double>(std::max<std::size_t>(bound_.size(), 1));
  bearable_ = std::clamp(bearable_share * (mean - much), least_bearable, most_bearable);
  return true;
}

std::vector<std::size_t> ModelPredictive::most_hindered_first(const Gains& gains) const {
  std::vector<std::size_t> jobs(bound_.size());
  std::iota(jobs.begin(), jobs.end(), std::size_t{0});
  std::stable_sort(jobs.begin(), jobs.end(), [&](std::size_t a, std::size_t b) {
    return bound_[a] - gains[a] > bound_[b] - gains[b];
  });
  return jobs;
}

/// The changes of the best levels that are worth a trial.
std::vector<Rungs> ModelPredictive::moves() const {
  const Gains gains = best_.mean_gains(draws_);
  const auto jobs = most_hindered_first(gains);
  std::vector<Rungs> list;
  for (const std::size_t j : jobs) {
    if (bound_[j] - gains[j] < hindered) break;
    for (Rungs& move : moves_.raises(best_.rungs, j)) list.push_back(std::move(move));
  }
  for (auto j = jobs.rbegin(); j != jobs.rend(); ++j) {
    for (Rungs& move : moves_.demotions(best_.rungs, *j)) list.push_back(std::move(move));
  }
  for (const std::size_t j : jobs) {
    for (Rungs& move : moves_.steps(best_.rungs, j)) list.push_back(std::move(move));
  }
  return list;
}

/// True: these rungs are the best now.
bool ModelPredictive::consider(const Rungs& rungs) {
  if (!has_budget() || std::find(tried_.begin(), tried_.end(), rungs) != tried_.end()) return false;
  tried_.push_back(rungs);
  Trial trial{.rungs = rungs, .gains = {}};
  double gained = 0;
  for (std::uint32_t draw = 0; draw < draws_; ++draw) {
    const auto jobs = predict(rungs, draw);
    if (failed_) return false;
    auto& gains = trial.gains.emplace_back();
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      gains.push_back(work_of(jobs[j]) / base_work_[draw][j] - 1);
    }
    const double standard_error = noise_ * std::sqrt(2.0 / (draw + 1));
    const bool races = draw + 1 < draws_;
    const double noise = (races ? errors_of_race : errors_at_end) * standard_error;
    const double loss = std::min(bearable_ + noise, most_bearable);
    gained = value_of(trial.mean_gains(draw + 1), loss, price_) -
             value_of(best_.mean_gains(draw + 1), loss, price_);
    if (gained < -racing_margin / (draw + 1)) return false;
  }
  if (gained <= least_gain_of_trial) return false;
  best_ = std::move(trial);
  found_.push_back(rungs);
  return true;
}

std::span<const JobWindow> ModelPredictive::predict(const Rungs& rungs, std::uint32_t draw) {
  ++predictions_;
  const auto jobs = twin_.predict(configuration_of(rungs), draw, share_);
  failed_ = jobs.size() != moves_.jobs();
  return jobs;
}

/// The levels stay, unless the jobs do worse with them than on default.
void ModelPredictive::watch(std::span<const JobWindow> jobs) {
  for (std::size_t j = 0; j < jobs.size(); ++j) watched_[j] += work_of(jobs[j]);
  if (++watched_windows_ < windows_of_a_look) return;
  Gains gains;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    gains.push_back(watched_[j] / watched_windows_ / std::max(default_work_[j] / windows_, 1.0) -
                    1);
  }
  if (mean_utility(gains) < harm) now_ = configuration_of(moves_.middle());
  watched_.assign(jobs.size(), 0);
  watched_windows_ = 0;
}

}  // namespace weft::qos
