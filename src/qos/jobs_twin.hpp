// SPDX-License-Identifier: Apache-2.0
// The twin of an experiment's jobs: the simulator with the scenario's network, run ahead. It knows
// the jobs' programs or traces and where their processes are, and draws noise of its own.
#pragma once

#include <vector>

#include "core/qos/twin.hpp"
#include "qos/experiment.hpp"
#include "qos/placement.hpp"

namespace weft::qos {

class JobsTwin final : public Twin {
 public:
  /// Refers to the options.
  explicit JobsTwin(const ExperimentOptions& options) : options_(options) {}

  /// The jobs that predictions are about from now on.
  void set_jobs(std::vector<Presence> present) { present_ = std::move(present); }
  std::span<const JobWindow> predict(const Configuration& levels, std::uint32_t draw,
                                     double share) override;
  std::vector<std::vector<double>> predict_all(std::span<const Question> questions,
                                               double share) override;
  std::optional<double> predict_alone(std::size_t job, std::uint32_t draw, double share) override;
  /// The first error of a simulation.
  const Result<void>& state() const { return state_; }

 private:
  PlacedJob placed(const Presence& job, std::uint32_t draw) const;
  Result<WindowWork> simulate(const Question& question, PicoDuration length) const;
  bool take(const Result<WindowWork>& seen);

  const ExperimentOptions& options_;
  std::vector<Presence> present_;
  Result<void> state_;
  WindowWork work_;
  std::vector<std::vector<double>> waited_;
  std::vector<JobWindow> windows_;
};

}  // namespace weft::qos
