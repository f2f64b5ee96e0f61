// SPDX-License-Identifier: Apache-2.0
// ModelPredictive: tries levels in a twin of the jobs, and gives the jobs the best ones it found.
//
// A trial costs the jobs nothing, and two trials can have the same noise, so that a difference of
// less than the noise shows. The jobs run some windows on default before; then the search uses its
// budget of predictions at once. The twin also tells what each job would do alone. The search
// begins with levels for groups of processes in all jobs, then gives each job the levels of the
// group that suits it best. From there it raises busy processes of the jobs that lost most to
// others, lowers idle ones of those that lost least, and moves single processes by a rung
// (level_moves.hpp). A trial that a prediction shows to be worse ends there (racing). The second
// half of the budget begins anew with the levels that were found, and each job's share of them:
// with more draws, as those of a search flatter what it chose, and with losses that cost more.
// Where the jobs do worse than on default after all, they go back to it.
#pragma once

#include <cstdint>
#include <vector>

#include "core/qos/controller.hpp"
#include "core/qos/level_moves.hpp"
#include "core/qos/twin.hpp"

namespace weft::qos {

struct ModelPredictiveOptions {
  std::uint32_t default_windows = 2;  ///< observed first; at least 1
  std::uint32_t draws = 3;            ///< of a trial that is not worse, at least 1; then twice that
  std::uint32_t budget = 1000;        ///< predictions in a search
};

class ModelPredictive final : public Controller {
 public:
  /// The twin models the jobs of the last `on_jobs`, and outlives the controller.
  ModelPredictive(const ModelPredictiveOptions& options, Twin& twin);

  std::string_view name() const override { return "model-predictive"; }
  void on_jobs(std::span<const JobFacts> jobs) override;
  const Configuration& configuration() const override { return now_; }
  void on_window(std::span<const JobWindow> jobs) override;
  bool is_settled() const override { return settled_; }
  std::uint32_t accepted() const override { return static_cast<std::uint32_t>(found_.size()); }

 private:
  using Gains = std::vector<double>;  // by job

  /// A choice of levels and what the twin predicts for it.
  struct Trial {
    Rungs rungs;
    std::vector<Gains> gains;  // by draw
    /// The mean of the first draws.
    Gains mean_gains(std::size_t draws) const;
  };

  void search();
  void improve_from(std::vector<Rungs> starts);
  void mix(std::span<const Rungs> starts);
  void improve();
  bool predict_default();
  bool predict_alone();
  std::vector<std::size_t> most_hindered_first(const Gains& gains) const;
  std::vector<Rungs> moves() const;
  bool consider(const Rungs& rungs);
  bool has_budget() const { return predictions_ < limit_ && !failed_; }
  std::span<const JobWindow> predict(const Rungs& rungs, std::uint32_t draw);
  void watch(std::span<const JobWindow> jobs);

  ModelPredictiveOptions options_;
  Twin& twin_;
  LevelMoves moves_;
  Configuration now_;
  bool settled_ = false;
  std::uint32_t windows_ = 0;
  std::vector<double> default_work_;  // by job, summed over windows on default
  std::vector<Gains> base_work_;      // of the twin on default, by draw
  Gains bound_;                       // of the twin alone: what each job could gain
  double share_ = 1;                  // of a window that a prediction takes
  double bearable_ = 0;               // loss of a job
  double noise_ = 0;                  // of a job's work in one prediction, relative
  double price_ = 0;                  // of a larger one
  std::uint32_t draws_ = 0;
  std::uint32_t predictions_ = 0;
  std::uint32_t limit_ = 0;  // of predictions in this part of the search
  bool failed_ = false;
  std::vector<Rungs> tried_;
  std::vector<Rungs> found_;  // each better than all before
  Trial best_;
  std::vector<double> watched_;  // work by job, summed over windows since the last look
  std::uint32_t watched_windows_ = 0;
};

}  // namespace weft::qos
