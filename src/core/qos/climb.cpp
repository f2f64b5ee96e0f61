// SPDX-License-Identifier: Apache-2.0
#include "core/qos/climb.hpp"

#include <algorithm>
#include <cmath>

#include "base/check.hpp"

namespace weft::qos {
namespace {

constexpr double least_gain = 0.0015;
constexpr double sigmas = 1.5;
constexpr double least_noise = 0.0005;  ///< of one window's score
constexpr std::uint32_t trials_between = 8;
constexpr std::size_t watch_windows = 16;

}  // namespace

double Climb::Measured::mean() const {
  return mean_of(scores);
}

Climb::Climb(const ClimbOptions& options) : options_(options), moves_({}) {
  WEFT_CHECK(options.default_windows >= 2 && options.windows_each >= 1);
}

void Climb::on_jobs(std::span<const JobFacts> jobs) {
  moves_ = LevelMoves(jobs);
  state_ = State::on_default;
  run_with(moves_.middle());
  windows_ = 0;
  accepted_ = 0;
  since_best_ = 0;
  default_work_.clear();
  queue_.clear();
  tried_.clear();
  watched_.clear();
}

void Climb::on_window(std::span<const JobWindow> jobs) {
  WEFT_CHECK(jobs.size() == moves_.jobs(), "{} jobs, but {} were announced", jobs.size(),
             moves_.jobs());
  ++windows_;
  switch (state_) {
    case State::on_default:
      observe_default(jobs);
      return;
    case State::starts:
    case State::climbing: {
      Measured& measured = measures_best_ ? best_ : trial_;
      measured.scores.push_back(score(jobs));
      measured.work.resize(jobs.size());
      for (std::size_t j = 0; j < jobs.size(); ++j) {
        measured.work[j] += static_cast<double>(jobs[j].work());
      }
      judge();
      return;
    }
    case State::idle:
      watch(jobs);
      return;
  }
}

void Climb::observe_default(std::span<const JobWindow> jobs) {
  auto& work = default_work_.emplace_back();
  for (const JobWindow& job : jobs) work.push_back(static_cast<double>(job.work()));
  moves_.observe(jobs);
  if (default_work_.size() < options_.default_windows) return;
  best_ = {.rungs = moves_.middle(), .work = std::vector<double>(jobs.size()), .scores = {}};
  for (const auto& window : default_work_) {
    for (std::size_t j = 0; j < jobs.size(); ++j) best_.work[j] += window[j];
  }
  mean_default_work_.clear();
  for (const double sum : best_.work) {
    mean_default_work_.push_back(std::max(sum / static_cast<double>(default_work_.size()), 1.0));
  }
  for (const auto& window : default_work_) best_.scores.push_back(score_of(window));
  moves_.find_slack();
  state_ = State::starts;
  for (Rungs& start : moves_.starts()) enqueue(std::move(start));
  next_trial();
}

void Climb::add_moves() {
  tried_.clear();
  std::vector<double> work = best_.work;
  for (double& sum : work) sum /= best_.windows();
  for (Rungs& move : moves_.around(best_.rungs, gains_of(work))) enqueue(std::move(move));
}

void Climb::enqueue(Rungs rungs) {
  if (rungs == best_.rungs) return;
  if (std::find(tried_.begin(), tried_.end(), rungs) != tried_.end()) return;
  tried_.push_back(rungs);
  queue_.push_back(std::move(rungs));
}

void Climb::next_trial() {
  if (windows_ >= options_.budget) return settle();
  if (queue_.empty() && state_ == State::starts) {
    state_ = State::climbing;
    add_moves();
  }
  if (queue_.empty()) return settle();
  if (++since_best_ > trials_between) {
    since_best_ = 0;
    measures_best_ = true;
    return run_with(best_.rungs);
  }
  measures_best_ = false;
  trial_ = {.rungs = std::move(queue_.front()), .work = {}, .scores = {}};
  queue_.pop_front();
  run_with(trial_.rungs);
}

/// After a window of a trial: it is worse, it is better, or another window must tell.
void Climb::judge() {
  if (measures_best_) return next_trial();
  const double gain = trial_.mean() - best_.mean();
  const double error = noise() * std::sqrt(1.0 / trial_.windows() + 1.0 / best_.windows());
  const double needed = least_gain + sigmas * error;
  const bool clearly_worse = gain < -error;
  const bool clearly_better = trial_.windows() >= 2 && gain > 2 * needed;
  if (!clearly_worse && !clearly_better && trial_.windows() < options_.windows_each) return;
  if (gain <= needed) return next_trial();
  best_ = std::move(trial_);
  ++accepted_;
  if (state_ == State::climbing) {
    queue_.clear();
    add_moves();
  }
  next_trial();
}

/// The best one stays, unless it has become worse than the default.
void Climb::watch(std::span<const JobWindow> jobs) {
  watched_.push_back(score(jobs));
  if (watched_.size() > watch_windows) watched_.pop_front();
  if (watched_.size() < watch_windows || best_.rungs == moves_.middle()) return;
  double mean = 0;
  for (const double s : watched_) mean += s / static_cast<double>(watch_windows);
  if (mean >= -2 * noise()) return;
  best_ = {.rungs = moves_.middle(), .work = std::vector<double>(moves_.jobs()), .scores = {0}};
  settle();
}

void Climb::settle() {
  state_ = State::idle;
  watched_.clear();
  run_with(best_.rungs);
}

void Climb::run_with(const Rungs& rungs) {
  now_ = configuration_of(rungs);
}

double Climb::score(std::span<const JobWindow> jobs) const {
  std::vector<double> work;
  for (const JobWindow& job : jobs) work.push_back(static_cast<double>(job.work()));
  return score_of(work);
}

double Climb::score_of(const std::vector<double>& work) const {
  return mean_utility(gains_of(work));
}

/// What the jobs gain with the work of one window.
std::vector<double> Climb::gains_of(const std::vector<double>& work) const {
  std::vector<double> gains;
  for (std::size_t j = 0; j < work.size(); ++j) {
    gains.push_back(work[j] / mean_default_work_[j] - 1);
  }
  return gains;
}

/// Estimates the noise of one window's score from the windows on default.
double Climb::noise() const {
  std::vector<double> scores;
  for (const auto& window : default_work_) scores.push_back(score_of(window));
  const double mean = mean_of(scores);
  double square = 0;
  for (const double s : scores) square += (s - mean) * (s - mean);
  const auto freedom = static_cast<double>(std::max<std::size_t>(scores.size(), 2) - 1);
  return std::max(least_noise, std::sqrt(square / freedom));
}

}  // namespace weft::qos
