// SPDX-License-Identifier: Apache-2.0
// Changes of levels that are worth a trial. All processes of a coupled job make the same progress,
// so progress does not tell which of them the others wait for; the time that each one waits does.
// Raising those brings the job near isolation and costs others little; lowering those that have
// time to spare costs their job nothing and gives room to all.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/qos/controller.hpp"

namespace weft::qos {

/// Levels that a network needs for rungs: the default one, one below and two above.
inline constexpr std::uint32_t rung_levels = 4;

/// A rung of the ladder of weights for each process, over all jobs: 0 has the least weight.
using Rungs = std::vector<std::uint8_t>;
inline constexpr std::uint8_t middle_rung = 1;  ///< the default level
inline constexpr std::uint8_t top_rung = 3;

/// 0 of none.
double mean_of(std::span<const double> values);
/// The value of a job's gain: losses beyond noise count four times, and are nearly forbidden before
/// anybody would notice them; large gains of one job do not pay for losses of others.
double utility(double gain);
/// The mean utility of the jobs' gains.
double mean_utility(std::span<const double> gains);

/// One thread.
class LevelMoves {
 public:
  /// Rungs of which one is taken, for the processes of a job from `first` on.
  struct Choice {
    std::size_t job = 0;
    std::size_t first = 0;
    std::vector<Rungs> options;

    /// Takes an option for `rungs`.
    void take(std::size_t option, Rungs& rungs) const {
      std::ranges::copy(options[option], rungs.begin() + static_cast<std::ptrdiff_t>(first));
    }
  };

  explicit LevelMoves(std::span<const JobFacts> jobs);

  /// Adds a window in which all processes were on the default level.
  void observe(std::span<const JobWindow> jobs);
  /// Computes the slack of each process from what `observe` got.
  void find_slack();
  /// The time that each process could lose before its job does, as a share of the job's iteration,
  /// less the least of its job.
  const std::vector<double>& slack() const { return slack_; }

  std::size_t processes() const { return iterations_.size(); }
  std::size_t jobs() const { return jobs_.size(); }
  Rungs middle() const { return Rungs(processes(), middle_rung); }
  /// Rungs that change groups of processes in all jobs at once: where a search begins.
  std::vector<Rungs> starts() const;
  /// Changes of `from`, the jobs with the shortest messages first: of groups, then of single
  /// processes. `gains`: what the jobs gained with `from`; those that lost much come with a repair.
  std::vector<Rungs> around(const Rungs& from, std::span<const double> gains) const;
  /// For each job, after its rungs of `from`: what it has in any of the starts, if `from` is the
  /// default; else a rung up or down for groups of its processes.
  std::vector<Choice> groups(const Rungs& from) const;
  /// For each process all rungs, the lowest first.
  std::vector<Choice> processes_alone() const;

 private:
  struct Job {
    std::size_t first = 0;
    std::size_t processes = 0;
    bool small_messages = false;
  };

  std::vector<Rungs> groups_of(const Rungs& from, const Job& job) const;
  Rungs repaired(const Rungs& from, const Job& job) const;
  Rungs group(const Rungs& from, const Job& job, double least, double most, int step) const;
  void add_ends(const Rungs& from, const Job& job, std::vector<Rungs>& moves) const;

  std::vector<Job> jobs_;
  std::vector<std::size_t> order_;  // of jobs: the shortest messages first
  double windows_ = 0;
  std::vector<double> iterations_;  // by process, summed over windows on default
  std::vector<double> waited_;
  std::vector<double> slack_;
};

/// The levels of processes on these rungs.
Configuration configuration_of(const Rungs& rungs);

}  // namespace weft::qos
