// SPDX-License-Identifier: Apache-2.0
// A sensitivity sweep: runs a program on one emulated network after the other, as SweepPlan says,
// and tells how it reacts. A SweepTarget runs the program, so that tests need no processes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/sweep/analysis.hpp"
#include "core/sweep/plan.hpp"
#include "emulate/sweep/ledger.hpp"
#include "emulate/sweep/question.hpp"
#include "weft/result.hpp"

namespace weft::emulate {

/// One run of the program.
struct ProgramRun {
  double time_s = 0;  ///< compared by --metric time
  double wall_s = 0;
  double stolen = 0;   ///< share of the processors' time that the hypervisor took meanwhile
  double waiting = 0;  ///< share of the run in which some process waited for a processor
  std::string output;  ///< standard output, where a metric is to be found in it
  SweepGround ground;
  std::vector<std::string> warnings;
};

/// Runs the program at a point. An error ends the sweep: a program that fails has no time.
using SweepTarget = std::function<Result<ProgramRun>(const SweepPoint&)>;

struct SweepRequest {
  SweepQuestion question;
  sweep::PlanOptions plan;  ///< `points` is taken from the question
  SweepShare share;
  std::string directory;      ///< of the ledger; empty: none
  bool runs_nothing = false;  ///< only reports the runs that the directory has
  /// The calibration in use now, which resumed runs must have had too.
  std::optional<LayerCalibration> calibration;
  std::vector<sweep::Point> predictions;
};

struct SweepProgress {
  std::size_t points = 0;
  std::size_t settled = 0;
  std::uint64_t runs = 0;
  double fraction = 0;
  SweepPoint point;  ///< that runs next
};

/// The surroundings of a sweep, which a caller provides.
struct SweepDriver {
  SweepTarget target;
  std::function<Duration()> elapsed;                 ///< since the sweep began
  std::function<bool(const SweepProgress&)> on_run;  ///< before each run; false ends the sweep
};

struct PointOutcome {
  SweepPoint point;
  sweep::MedianInterval seconds;  ///< of accepted runs
  std::uint32_t runs = 0;
  std::uint32_t rejected = 0;
  bool is_precise = false;  ///< the interval is as narrow as the request asks, and confident
};

struct Prediction {
  sweep::Point point;
  double seconds = 0;
};

struct SweepOutcome {
  SweepQuestion question;
  SweepGround ground;    ///< of the first run
  double precision = 0;  ///< requested: half of an interval, as a share of its median
  std::vector<PointOutcome> points;
  /// None for a task that has only its share of the points.
  std::optional<sweep::Analysis> analysis;
  std::vector<Prediction> predictions;
  std::vector<std::string> warnings;  ///< one line each
};

/// Errors: of the target, with the point; the directory's; the metric's; a run had another
/// calibration than the others (invalid_argument); the budget ended before each point had a run
/// (timed_out); `on_run` ended it (cancelled).
Result<SweepOutcome> run_sweep(const SweepRequest& request, const SweepDriver& driver);

}  // namespace weft::emulate
