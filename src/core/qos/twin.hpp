// SPDX-License-Identifier: Apache-2.0
// A digital twin: a model of the running jobs and of their network that predicts windows, as often
// as a controller asks, while the jobs run on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/qos/controller.hpp"

namespace weft::qos {

class Twin {
 public:
  virtual ~Twin() = default;

  /// Predicts a window in which the jobs of now run with these levels. `share` of a window's length
  /// is enough, in (0, 1]. Predictions with the same `draw` have the same noise. One entry for each
  /// job, in the order of `on_jobs`, valid until the next call; empty when the model failed.
  virtual std::span<const JobWindow> predict(const Configuration& levels, std::uint32_t draw,
                                             double share) = 0;
  /// Predicts the work of one job that has the network to itself, its slowest process's; empty when
  /// the model failed.
  virtual std::optional<std::uint64_t> predict_alone(std::size_t job, std::uint32_t draw,
                                                     double share) = 0;
};

}  // namespace weft::qos
