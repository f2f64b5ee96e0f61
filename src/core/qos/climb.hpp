// SPDX-License-Identifier: Apache-2.0
// Climb: raises the processes that wait the least, and lowers those that have time to spare
// (level_moves.hpp), by trials in the windows of the running jobs.
//
// It observes the default for some windows, tries a few starts that change groups of processes in
// all jobs at once, and goes on from the best one group by group. A trial ends as soon as its
// windows say that it is worse than the best (racing); an accepted one must be better by more than
// the noise. When no group is left to change, or the budget is used up, the best one stays.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "core/qos/controller.hpp"
#include "core/qos/level_moves.hpp"

namespace weft::qos {

struct ClimbOptions {
  std::uint32_t default_windows = 4;  ///< observed first; at least 2
  std::uint32_t windows_each = 3;     ///< of a trial that is not worse
  std::uint32_t budget = 125;         ///< windows until the best one stays
};

class Climb final : public Controller {
 public:
  explicit Climb(const ClimbOptions& options);

  std::string_view name() const override { return "climb"; }
  void on_jobs(std::span<const JobFacts> jobs) override;
  const Configuration& configuration() const override { return now_; }
  void on_window(std::span<const JobWindow> jobs) override;
  bool is_settled() const override { return state_ == State::idle; }
  std::uint32_t accepted() const override { return accepted_; }

 private:
  enum class State : std::uint8_t { on_default, starts, climbing, idle };

  /// The results of windows with one configuration.
  struct Measured {
    Rungs rungs;
    std::vector<double> work;  // by job, summed
    std::vector<double> scores;
    double mean() const;
    std::uint32_t windows() const { return static_cast<std::uint32_t>(scores.size()); }
  };

  void observe_default(std::span<const JobWindow> jobs);
  void add_starts();
  void add_moves();
  void enqueue(Rungs rungs);
  void next_trial();
  void judge();
  void watch(std::span<const JobWindow> jobs);
  void settle();
  void run_with(const Rungs& rungs);
  double score(std::span<const JobWindow> jobs) const;
  double score_of(const std::vector<double>& work) const;
  std::vector<double> gains_of(const std::vector<double>& work) const;
  double noise() const;

  ClimbOptions options_;
  LevelMoves moves_;
  State state_ = State::idle;
  Configuration now_;
  std::uint32_t windows_ = 0;
  std::vector<std::vector<double>> default_work_;  // by window and job
  std::vector<double> mean_default_work_;          // of one window, by job
  std::deque<Rungs> queue_;
  std::vector<Rungs> tried_;  // from the best one
  Measured best_;
  Measured trial_;
  bool measures_best_ = false;
  std::uint32_t since_best_ = 0;  // trials since the best one was measured
  std::uint32_t accepted_ = 0;
  std::deque<double> watched_;
};

}  // namespace weft::qos
