// SPDX-License-Identifier: Apache-2.0
// Effects: what each of many options does to each job, learnt from trials that take many at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace weft::qos {

/// A trial takes one option of each choice. What it does to a job is taken as the sum of what its
/// options do, and the rest as noise. So each trial tells something about many options.
class Effects {
 public:
  /// Options of which a trial takes one, at most 256. They change one job.
  struct Choice {
    std::size_t job = 0;
    std::size_t options = 0;
  };
  using Taken = std::vector<std::size_t>;  ///< by choice: the option
  using Gains = std::vector<double>;       ///< by job
  using Value = std::function<double(std::span<const double> gains)>;

  /// `doubt`: so many trials without any effect on other jobs than their own count beside those
  /// that took an option, since noise would choose otherwise; for its own job it is one.
  Effects(std::vector<Choice> choices, std::size_t jobs, double doubt);

  /// Adds a trial. Those with the same `draw` of noise have something in common that is no effect.
  void add(const Taken& taken, const Gains& gains, std::uint32_t draw);
  /// Computes the effects from all trials, beginning with those of the last fit.
  void fit();
  /// What an option does to a job. Only differences between the options of a choice tell something.
  double of(std::size_t choice, std::size_t option, std::size_t job) const {
    return effects_[job][first_[choice] + option];
  }
  /// The options that are together worth the most, where those of `from` gained `gains`. Of each
  /// job one choice differs from `from` at most, by at most `farthest` options, and after
  /// `most_changes` the search for them ends, the most valuable first.
  Taken better(const Taken& from, const Gains& gains, std::size_t farthest,
               std::size_t most_changes, const Value& value) const;

 private:
  class Ascent;
  double explain(std::size_t choice, std::size_t job);
  void explain_draws(std::size_t job);

  double doubt_;
  std::vector<Choice> choices_;
  std::vector<std::size_t> first_;                // by choice: its first option in a row of all
  std::vector<std::vector<std::uint8_t>> taken_;  // by choice, then trial
  std::vector<double> trials_;                    // by option: those that took it
  std::vector<std::uint32_t> draw_;               // by trial
  std::vector<double> trials_of_draw_;            // by draw
  std::vector<std::vector<double>> effects_;      // by job, then option
  std::vector<std::vector<double>> draws_;  // by job, then draw: what its trials have in common
  std::vector<std::vector<double>> rest_;   // by job, then trial: not explained yet
};

}  // namespace weft::qos
