// SPDX-License-Identifier: Apache-2.0
#include "core/qos/climb.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/check.hpp"

namespace weft::qos {
namespace {

/// Level and weight of each rung: all that nobody decided about is on the default level.
constexpr std::array<Level, climb_levels> level_of_rung = {1, 0, 2, 3};
const std::vector<std::uint8_t> weights = {2, 1, 4, 8};

constexpr double busy = 0.05;  ///< slack of a process that others wait for
constexpr double rather_busy = 0.15;
constexpr double spare = 0.35;  ///< slack of one that can lose some
constexpr double ample = 0.4;
constexpr double least_gain = 0.0015;
constexpr double sigmas = 1.5;
constexpr double least_noise = 0.0005;  ///< of one window's score
constexpr std::uint32_t trials_between = 8;
constexpr std::size_t watch_windows = 16;

/// The value of a job's gain: losses beyond noise count four times, and are nearly forbidden before
/// anybody would notice them; large gains of one job do not pay for losses of others.
double utility(double gain) {
  if (gain < -0.035) return 4 * -0.02 + 12 * (gain + 0.035) - 0.015;
  if (gain < -0.015) return 4 * (gain + 0.015) - 0.015;
  if (gain > 0.05) return 0.05 + (gain - 0.05) / 2;
  return gain;
}

double mean_of(const std::vector<double>& values) {
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

}  // namespace

double Climb::Measured::mean() const {
  return mean_of(scores);
}

Climb::Climb(const ClimbOptions& options) : options_(options) {
  WEFT_CHECK(options.default_windows >= 2 && options.windows_each >= 1);
}

void Climb::on_jobs(std::span<const JobFacts> jobs) {
  jobs_.clear();
  processes_ = 0;
  std::uint64_t longest = 0;
  for (const JobFacts& job : jobs) longest = std::max(longest, job.message_bytes);
  for (const JobFacts& job : jobs) {
    jobs_.push_back({.first = processes_,
                     .processes = job.processes,
                     .small_messages = job.message_bytes * 2 <= longest});
    processes_ += job.processes;
  }
  order_.resize(jobs_.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
    return jobs[a].message_bytes < jobs[b].message_bytes;
  });
  state_ = State::on_default;
  now_ = {.level_of = std::vector<Level>(processes_, default_level), .weight_of = weights};
  windows_ = 0;
  accepted_ = 0;
  since_best_ = 0;
  iterations_.assign(processes_, 0);
  waited_.assign(processes_, 0);
  slack_.assign(processes_, 0);
  default_work_.clear();
  queue_.clear();
  tried_.clear();
  watched_.clear();
}

void Climb::on_window(std::span<const JobWindow> jobs) {
  WEFT_CHECK(jobs.size() == jobs_.size(), "{} jobs, but {} were announced", jobs.size(),
             jobs_.size());
  ++windows_;
  switch (state_) {
    case State::on_default:
      observe_default(jobs);
      return;
    case State::starts:
    case State::climbing: {
      Measured& measured = measures_best_ ? best_ : trial_;
      measured.scores.push_back(score(jobs));
      measured.work.resize(jobs_.size());
      for (std::size_t j = 0; j < jobs_.size(); ++j) {
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
  std::size_t process = 0;
  for (const JobWindow& job : jobs) {
    work.push_back(static_cast<double>(job.work()));
    for (std::size_t i = 0; i < job.iterations.size(); ++i, ++process) {
      iterations_[process] += static_cast<double>(job.iterations[i]);
      if (!job.waited.empty()) waited_[process] += job.waited[i];
    }
  }
  if (default_work_.size() < options_.default_windows) return;
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    double sum = 0;
    for (const auto& window : default_work_) sum += window[j];
    jobs_[j].default_work = std::max(sum / static_cast<double>(default_work_.size()), 1.0);
  }
  find_slack();
  best_ = {.rungs = middle_rungs(), .work = std::vector<double>(jobs_.size()), .scores = {}};
  for (const auto& window : default_work_) {
    best_.scores.push_back(score_of(window));
    for (std::size_t j = 0; j < jobs_.size(); ++j) best_.work[j] += window[j];
  }
  state_ = State::starts;
  add_starts();
  next_trial();
}

/// An iteration of the slowest process takes T; a faster one could lose the difference, and the
/// time that it waits.
void Climb::find_slack() {
  const auto windows = static_cast<double>(default_work_.size());
  for (const Job& job : jobs_) {
    double slowest = 0;
    for (std::size_t p = job.first; p < job.first + job.processes; ++p) {
      slowest = std::max(slowest, windows / std::max(iterations_[p], 1.0));
    }
    double least = 1e9;
    for (std::size_t p = job.first; p < job.first + job.processes; ++p) {
      const double own = windows / std::max(iterations_[p], 1.0);
      const double wait = waited_[p] / std::max(iterations_[p], 1.0);
      slack_[p] = (slowest - own + wait) / slowest;
      least = std::min(least, slack_[p]);
    }
    for (std::size_t p = job.first; p < job.first + job.processes; ++p) slack_[p] -= least;
  }
}

void Climb::add_starts() {
  Rungs small_up = middle_rungs();
  Rungs all_up = small_up;
  Rungs spare_down = small_up;
  for (const Job& job : jobs_) {
    for (std::size_t p = job.first; p < job.first + job.processes; ++p) {
      if (slack_[p] < busy) all_up[p] = top;
      if (slack_[p] < busy && job.small_messages) small_up[p] = top;
      if (slack_[p] > ample) spare_down[p] = 0;
    }
  }
  Rungs both = small_up;
  Rungs gentle = spare_down;
  for (std::size_t p = 0; p < processes_; ++p) {
    if (spare_down[p] == 0) both[p] = 0;
    if (all_up[p] == top) gentle[p] = middle + 1;
  }
  Rungs with_others = both;
  for (std::size_t p = 0; p < processes_; ++p) {
    if (all_up[p] == top && with_others[p] == middle) with_others[p] = middle + 1;
  }
  for (Rungs* start : {&small_up, &both, &with_others, &gentle, &spare_down, &all_up}) {
    enqueue(std::move(*start));
  }
}

void Climb::add_moves() {
  tried_.clear();
  for (const std::size_t j : order_) {
    add_repairs(j);
    add_group(j, -1, busy, 1);
    add_group(j, -1, rather_busy, 1);
    add_group(j, spare, 1e9, -1);
    add_group(j, -1, 1e9, 1);
    add_group(j, -1, 1e9, -1);
  }
  for (const std::size_t j : order_) add_singles(j);
}

/// A job that lost: without its demotions, and its busiest processes raised.
void Climb::add_repairs(std::size_t j) {
  const Job& job = jobs_[j];
  const double gain = best_.work[j] / best_.windows() / job.default_work - 1;
  if (gain > -0.02) return;
  Rungs rungs = best_.rungs;
  for (std::size_t p = job.first; p < job.first + job.processes; ++p) {
    rungs[p] = std::max(rungs[p], middle);
    if (slack_[p] < busy) rungs[p] = std::max<std::uint8_t>(rungs[p], middle + 1);
  }
  enqueue(std::move(rungs));
}

void Climb::add_group(std::size_t j, double least, double most, int step) {
  const Job& job = jobs_[j];
  Rungs rungs = best_.rungs;
  for (std::size_t p = job.first; p < job.first + job.processes; ++p) {
    if (slack_[p] < least || slack_[p] >= most) continue;
    rungs[p] = static_cast<std::uint8_t>(std::clamp(rungs[p] + step, 0, int{top}));
  }
  enqueue(std::move(rungs));
}

/// The process that waits least of those that can rise, and the one that waits most of those that
/// can sink.
void Climb::add_singles(std::size_t j) {
  const Job& job = jobs_[j];
  std::optional<std::size_t> busiest, idlest;
  for (std::size_t p = job.first; p < job.first + job.processes; ++p) {
    if (best_.rungs[p] < top && (!busiest || slack_[p] < slack_[*busiest])) busiest = p;
    if (best_.rungs[p] > 0 && (!idlest || slack_[p] > slack_[*idlest])) idlest = p;
  }
  for (const auto& [process, step] : {std::pair{busiest, 1}, std::pair{idlest, -1}}) {
    if (!process) continue;
    Rungs rungs = best_.rungs;
    rungs[*process] = static_cast<std::uint8_t>(rungs[*process] + step);
    enqueue(std::move(rungs));
  }
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
  if (watched_.size() < watch_windows || best_.rungs == middle_rungs()) return;
  double mean = 0;
  for (const double s : watched_) mean += s / static_cast<double>(watch_windows);
  if (mean >= -2 * noise()) return;
  best_ = {.rungs = middle_rungs(), .work = std::vector<double>(jobs_.size()), .scores = {0}};
  settle();
}

void Climb::settle() {
  state_ = State::idle;
  watched_.clear();
  run_with(best_.rungs);
}

void Climb::run_with(const Rungs& rungs) {
  for (std::size_t p = 0; p < processes_; ++p) now_.level_of[p] = level_of_rung[rungs[p]];
}

double Climb::score(std::span<const JobWindow> jobs) const {
  std::vector<double> work;
  for (const JobWindow& job : jobs) work.push_back(static_cast<double>(job.work()));
  return score_of(work);
}

/// The mean utility of the jobs' gains in a window.
double Climb::score_of(const std::vector<double>& work) const {
  double sum = 0;
  for (std::size_t j = 0; j < work.size(); ++j) sum += utility(work[j] / jobs_[j].default_work - 1);
  return work.empty() ? 0 : sum / static_cast<double>(work.size());
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
