// SPDX-License-Identifier: Apache-2.0
#include "core/qos/algorithm_1.hpp"

#include <utility>

#include "base/check.hpp"

namespace weft::qos {

Algorithm1::Algorithm1(const Algorithm1Options& options, std::uint64_t seed)
    : options_(options), rng_(seed) {
  WEFT_CHECK(options.threshold > 0 && options.threshold <= 1);
  WEFT_CHECK(options.levels >= 2 && options.levels < 256);
  WEFT_CHECK(options.default_windows >= 1 && options.largest_weight >= 2);
}

void Algorithm1::on_jobs(std::span<const JobFacts> jobs) {
  jobs_ = jobs.size();
  processes_ = 0;
  for (const JobFacts& job : jobs) processes_ += job.processes;
  accepted_ = 0;
  restart();
}

void Algorithm1::restart() {
  state_ = State::on_default;
  now_ = {.level_of = std::vector<Level>(processes_, default_level), .weight_of = {1}};
  best_ = now_;
  best_improvement_ = 0;
  default_sum_.assign(jobs_, 0);
  default_seen_ = 0;
  candidates_.clear();
}

void Algorithm1::on_window(std::span<const JobWindow> jobs) {
  WEFT_CHECK(jobs.size() == jobs_, "{} jobs, but {} were announced", jobs.size(), jobs_);
  switch (state_) {
    case State::on_default:
      if (!observe_default(jobs)) return;
      select_candidates(jobs);
      state_ = State::running;
      break;
    case State::running: {
      const double gained = improvement(work_of(jobs), default_work_);
      if (gained > best_improvement_) {
        best_improvement_ = gained;
        best_ = now_;
        ++accepted_;
        select_candidates(jobs);
      }
      break;
    }
    case State::idle:
      if (improvement(work_of(jobs), default_work_) < 0) restart();
      return;
  }
  if (candidates_.empty() || best_.weight_of.size() == options_.levels) {
    state_ = State::idle;
    now_ = best_;
  } else {
    try_next_candidate();
  }
}

bool Algorithm1::observe_default(std::span<const JobWindow> jobs) {
  const auto work = work_of(jobs);
  for (std::size_t i = 0; i < jobs_; ++i) default_sum_[i] += work[i];
  if (++default_seen_ < options_.default_windows) return false;
  default_work_ = default_sum_;
  for (std::uint64_t& sum : default_work_) sum /= default_seen_;
  return true;
}

void Algorithm1::select_candidates(std::span<const JobWindow> jobs) {
  candidates_.clear();
  std::size_t process = 0;
  for (const JobWindow& job : jobs) {
    const auto slowest = static_cast<double>(job.work());
    for (const std::uint64_t iterations : job.iterations) {
      const bool is_slow = static_cast<double>(iterations) * options_.threshold <= slowest;
      const Level level = best_.level_of[process];
      const bool can_rise =
          level == default_level || best_.weight_of[level] * 2 <= options_.largest_weight;
      if (is_slow && can_rise) candidates_.push_back(process);
      ++process;
    }
  }
  WEFT_CHECK(process == processes_, "{} processes, but {} were announced", process, processes_);
  for (std::size_t i = candidates_.size(); i > 1; --i) {
    std::swap(candidates_[i - 1], candidates_[rng_.below(i)]);
  }
}

void Algorithm1::try_next_candidate() {
  const std::size_t process = candidates_.back();
  candidates_.pop_back();
  now_ = best_;
  Level& level = now_.level_of[process];
  if (level == default_level) {
    level = static_cast<Level>(now_.weight_of.size());
    now_.weight_of.push_back(2);
  } else {
    now_.weight_of[level] = static_cast<std::uint8_t>(now_.weight_of[level] * 2);
  }
}

std::vector<std::uint64_t> Algorithm1::work_of(std::span<const JobWindow> jobs) const {
  std::vector<std::uint64_t> work;
  for (const JobWindow& job : jobs) work.push_back(job.work());
  return work;
}

}  // namespace weft::qos
