// SPDX-License-Identifier: Apache-2.0
// LevelSearch: finds levels for the processes of several jobs by predictions of a twin.
//
// The search begins with levels for groups of processes: each trial draws some for every job, and
// together they tell what each option does to each job (effects.hpp). Where the effects say that
// levels are better, the twin measures them, and the effects learn from that, too: they are sums,
// and jobs are not. Then the search goes on with single processes of all jobs, a rung up or down,
// round by round, and with groups again in every third round. The last quarter of the budget begins
// anew with the best levels of the rest: with other draws, as those of a search flatter what it
// chose, twice as many, and with losses that cost more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/rng.hpp"
#include "core/qos/effects.hpp"
#include "core/qos/level_moves.hpp"
#include "core/qos/twin.hpp"

namespace weft::qos {

/// The result of a search.
struct FoundLevels {
  Rungs rungs;
  std::uint32_t found = 0;  ///< how often there were better ones

  friend bool operator==(const FoundLevels&, const FoundLevels&) = default;
};

/// One thread. For one search.
class LevelSearch {
 public:
  struct Options {
    /// Of levels that are measured, at least 1; at last twice as many others.
    std::uint32_t draws = 6;
    std::uint32_t predictions = 0;  ///< at most; 0: 100 for each job, and at least 1,000
    double share = 1;               ///< of a window, for each prediction
  };

  /// `twin` models the jobs of `moves`; both outlive the search, which tells `moves` the slack.
  LevelSearch(const Options& options, LevelMoves& moves, Twin& twin);

  void run();
  /// The default, if nothing helps, or if the twin failed while the last part began.
  FoundLevels best() const { return {.rungs = best_.rungs, .found = found()}; }
  /// The twin failed.
  bool failed() const { return failed_; }

 private:
  using Gains = Effects::Gains;
  using Taken = Effects::Taken;

  /// Levels to choose from, and what trials have taught about them.
  struct Space {
    std::vector<LevelMoves::Choice> choices;
    std::size_t farthest = 0;  // options from those that a trial changes
    double keeps = 0;          // share of the jobs that a trial leaves as they are
    Effects effects;
  };
  /// Levels, and what the twin predicts for them in comparison with the default.
  struct Trial {
    Taken taken;  // of the space that is searched
    Rungs rungs;
    Gains gains;
  };

  /// How much values differ that ought to be the same.
  struct Spread {
    double squares = 0;
    double degrees = 0;
    void add(std::span<const double> values);
    double variance() const { return degrees > 0 ? squares / degrees : 0; }
  };

  std::uint32_t found() const { return accepted_ + static_cast<std::uint32_t>(found_.size()); }
  Space space_of(std::vector<LevelMoves::Choice> choices, std::size_t farthest, double keeps,
                 double doubt) const;
  Rungs rungs_of(const Space& space, const Taken& taken) const;
  void begin_with_default();
  void begin_with(std::vector<Rungs> starts);
  void improve();
  void improve_groups();
  std::uint32_t trials_of_round() const;
  void learn(Space& space, const Taken& around, std::uint32_t trials);
  Taken draw_around(const Space& space, Taken taken, Rng& rng) const;
  Trial climb(Space& space, Trial from);
  void measure(Trial& trial);
  void measure(Trial& trial, Space& space);
  bool ask_for_bounds();
  Gains gains_of(std::span<const double> work, std::uint32_t draw) const;
  double value_of(std::span<const double> gains, double bearable) const;
  std::uint32_t left() const {
    return failed_ || predictions_ >= limit_ ? 0 : limit_ - predictions_;
  }

  const Options options_;
  LevelMoves& moves_;
  Twin& twin_;
  Space alone_;  // single processes
  Trial best_;
  Trial last_resort_;             // the best one if jobs may lose more
  std::vector<Rungs> found_;      // each better than all before
  std::vector<Gains> base_work_;  // of the twin on default, by draw
  Gains bound_;                   // of the twin alone: what each job could gain
  double bearable_ = 0;           // loss of a job
  double least_bearable_ = 0;     // of these
  std::vector<Spread> noise_;     // by job: of its gain in one prediction
  double price_ = 0;              // of a larger loss
  std::uint32_t first_draw_ = 0;  // of those that levels are measured by
  std::uint32_t draws_ = 0;
  std::uint32_t accepted_ = 0;  // of the first part
  std::uint32_t predictions_ = 0;
  std::uint32_t limit_ = 0;  // of predictions in this part of the search
  bool failed_ = false;
};

}  // namespace weft::qos
