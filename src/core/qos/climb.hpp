// SPDX-License-Identifier: Apache-2.0
// Climb: raises the processes that wait the least. All processes of a coupled job make the same
// progress, so progress does not tell which of them the others wait for; the time that each one
// waits does. Raising those brings the job near isolation and costs others little; lowering those
// that have time to spare costs their job nothing and gives room to all.
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

namespace weft::qos {

/// Levels that a network needs for it: the default one, one below and two above.
inline constexpr std::uint32_t climb_levels = 4;

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

  /// The time that each process could lose before its job does, as a share of the job's iteration,
  /// less the least of its job. Known after the windows on default.
  const std::vector<double>& slack() const { return slack_; }

 private:
  enum class State : std::uint8_t { on_default, starts, climbing, idle };
  /// A rung of the ladder for each process: 0 has the least weight; all begin on `middle`.
  using Rungs = std::vector<std::uint8_t>;
  static constexpr std::uint8_t middle = 1;
  static constexpr std::uint8_t top = 3;

  /// The results of windows with one configuration.
  struct Measured {
    Rungs rungs;
    std::vector<double> work;  // by job, summed
    std::vector<double> scores;
    double mean() const;
    std::uint32_t windows() const { return static_cast<std::uint32_t>(scores.size()); }
  };
  struct Job {
    std::size_t first = 0;
    std::size_t processes = 0;
    bool small_messages = false;
    double default_work = 0;  // of one window
  };

  void observe_default(std::span<const JobWindow> jobs);
  void find_slack();
  void add_starts();
  void add_moves();
  void add_repairs(std::size_t job);
  void add_group(std::size_t job, double least, double most, int step);
  void add_singles(std::size_t job);
  void enqueue(Rungs rungs);
  void next_trial();
  void judge();
  void watch(std::span<const JobWindow> jobs);
  void settle();
  void run_with(const Rungs& rungs);
  double score(std::span<const JobWindow> jobs) const;
  double score_of(const std::vector<double>& work) const;
  double noise() const;
  Rungs middle_rungs() const { return Rungs(processes_, middle); }

  ClimbOptions options_;
  std::vector<Job> jobs_;
  std::vector<std::size_t> order_;  // of jobs: the shortest messages first
  std::size_t processes_ = 0;
  State state_ = State::idle;
  Configuration now_;
  std::uint32_t windows_ = 0;
  std::vector<double> iterations_;  // by process, summed over windows on default
  std::vector<double> waited_;
  std::vector<double> slack_;
  std::vector<std::vector<double>> default_work_;  // by window and job
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
