// SPDX-License-Identifier: Apache-2.0
// ModelPredictive: tries levels in a twin of the jobs, and gives the jobs the best ones it found.
//
// A trial costs the jobs nothing, and two trials can have the same noise, so that a difference of
// less than the noise shows. The jobs run some windows on default before; then the search
// (level_search.hpp) uses its budget of predictions at once. Where the jobs do worse than on
// default in the first windows after all, they go back to it.
#pragma once

#include <cstdint>
#include <vector>

#include "core/qos/controller.hpp"
#include "core/qos/level_moves.hpp"
#include "core/qos/level_search.hpp"
#include "core/qos/twin.hpp"

namespace weft::qos {

struct ModelPredictiveOptions {
  std::uint32_t default_windows = 2;  ///< observed first; at least 1
  LevelSearch::Options search;        ///< the share of a window is chosen by the jobs' iterations
  /// The results of searches. Those that are there are taken in place of a search, one after the
  /// other, and searches add theirs. Outlives the controller; null: nobody keeps them.
  std::vector<FoundLevels>* kept = nullptr;
};

class ModelPredictive final : public Controller {
 public:
  /// The twin models the jobs of the last `on_jobs`, and outlives the controller.
  ModelPredictive(const ModelPredictiveOptions& options, Twin& twin);

  std::string_view name() const override { return "model-predictive"; }
  std::uint32_t version() const override { return 3; }
  void on_jobs(std::span<const JobFacts> jobs) override;
  const Configuration& configuration() const override { return now_; }
  void on_window(std::span<const JobWindow> jobs) override;
  bool is_settled() const override { return settled_; }
  std::uint32_t accepted() const override { return accepted_; }

 private:
  FoundLevels find();
  FoundLevels search();
  bool fits(const FoundLevels& levels) const;
  void watch(std::span<const JobWindow> jobs);

  ModelPredictiveOptions options_;
  Twin& twin_;
  LevelMoves moves_;
  Configuration now_;
  std::size_t searches_ = 0;
  bool settled_ = false;
  std::uint32_t windows_ = 0;
  std::uint32_t accepted_ = 0;
  std::vector<double> default_work_;  // by job, summed over windows on default
  std::vector<double> watched_;       // work by job, summed over windows since the last look
  std::uint32_t watched_windows_ = 0;
};

}  // namespace weft::qos
