// SPDX-License-Identifier: Apache-2.0
// A digital twin: a model of the running jobs and of their network that predicts windows, as often
// as a controller asks, while the jobs run on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/qos/controller.hpp"

namespace weft::qos {

/// One thread.
class Twin {
 public:
  /// Levels to predict, and the noise: that of the same `draw` is the same.
  struct Question {
    Configuration levels;
    std::uint32_t draw = 0;
  };

  virtual ~Twin() = default;

  /// Predicts a window in which the present jobs run with these levels, of `share` of a window's
  /// length, in (0, 1]. Returns one entry for each job, in the order of Controller::on_jobs, valid
  /// until the next call; none when the model failed.
  virtual std::span<const JobWindow> predict(const Configuration& levels, std::uint32_t draw,
                                             double share) = 0;
  /// Predicts many such windows, several at a time where it can. Returns the progress of each job's
  /// slowest process, question by question; nothing when the model failed.
  virtual std::vector<std::vector<double>> predict_all(std::span<const Question> questions,
                                                       double share);
  /// Predicts the progress of the slowest process of one job that has the network to itself; `job`
  /// counts in the order of Controller::on_jobs. Empty when the model failed.
  virtual std::optional<double> predict_alone(std::size_t job, std::uint32_t draw,
                                              double share) = 0;
};

}  // namespace weft::qos
