// SPDX-License-Identifier: Apache-2.0
// SweepPlan: which point of a sweep runs next, and when it is enough. A machine: it is told what
// each run took and how much of its budget is used up, and names the next point.
//
// Runs are interleaved: a round runs every point once that is not settled yet, in an order drawn
// anew, so that slow changes of the machine hit all points alike. A point is settled when the
// confidence interval of its median is narrow, or after `most_runs`.
//
// A run is rejected, and repeated, for one of two reasons. The hypervisor took a share of the
// processors' time that is more than `most_stolen` above the lower quartile of the shares of the
// point's runs. Or for a share of the run that is more than `most_waiting` above that quartile,
// processes waited for a processor. Other points give no measure: a launcher's start has processes
// wait as long in each run, which is a larger share of the runs on faster networks. No run is
// rejected for its own value: an interval without the slowest runs would miss the median of a
// program whose times are skewed. Rejection looks at all runs of the point so far: it is the same
// for any order of runs, and a resumed sweep decides as an uninterrupted one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/rng.hpp"
#include "core/sweep/median.hpp"
#include "weft/time.hpp"

namespace weft::sweep {

/// The measured value of one run. Smaller is better: a rate is given as its inverse.
struct Sample {
  double value = 0;    ///< seconds, or another metric; finite and above 0
  double wall_s = 0;   ///< how long the run took, for the budget
  double stolen = 0;   ///< share of the processors' time that the hypervisor took, 0 to 1
  double waiting = 0;  ///< share of the run in which some process waited for a processor, 0 to 1
};

struct PlanOptions {
  std::size_t points = 1;
  double precision = 0.02;       ///< half of the interval, as a share of the median
  std::uint32_t least_runs = 6;  ///< accepted ones; with 6 the interval has its confidence
  std::uint32_t most_runs = 30;  ///< of a point, rejected ones included
  double most_stolen = 0.05;
  double most_waiting = 0.1;
  Duration budget = Duration::max();
  std::uint64_t seed = 1;  ///< of the order
};

/// The runs of a point so far.
struct PointState {
  std::vector<double> accepted;
  std::uint32_t runs = 0;  ///< rejected ones included
  std::uint32_t rejected = 0;
  std::optional<MedianInterval> interval;  ///< none without an accepted run
};

class SweepPlan {
 public:
  explicit SweepPlan(const PlanOptions& options);

  /// A run of a point, of this process or of an earlier one.
  void add(std::size_t point, const Sample& sample);

  /// The point to run now; none when every point is settled, or when no run that is left would end
  /// within the budget. Nobody knows how long a point's first run takes, and without it there is no
  /// result: it begins as long as the budget lasts.
  std::optional<std::size_t> next(Duration elapsed);

  PointState state(std::size_t point) const;
  bool is_settled(std::size_t point) const;
  std::size_t settled() const;
  /// Points without an accepted run.
  std::size_t missing() const;
  std::uint64_t runs() const { return runs_; }
  /// Returns how much of the work is done, 0 to 1: by runs that settled points need, or by the
  /// budget, whichever is further.
  double progress(Duration elapsed) const;

 private:
  /// Lower quartiles of the shares of a point's runs.
  struct Usual {
    double stolen = 0;
    double waiting = 0;
  };

  bool is_crowded(const Sample& sample, const Usual& usual) const;
  double expected_wall_s(std::size_t point) const;
  void begin_round();

  PlanOptions options_;
  Rng rng_;
  std::vector<std::vector<Sample>> samples_;  // by point
  std::vector<std::size_t> round_;            // points that are still to run in it, last first
  std::vector<Usual> usual_;                  // by point
  std::uint64_t runs_ = 0;
};

}  // namespace weft::sweep
