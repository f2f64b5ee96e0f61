// SPDX-License-Identifier: Apache-2.0
// The experiment of paper 5 with real processes: jobs on the hosts of a testbed whose two switches
// share one link, over real TCP. Each job alone, all on the default level, all as a controller says
// from window to window; and, to judge it by, levels that are set by hand.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "qos/experiment.hpp"
#include "testbed/options.hpp"
#include "weft/result.hpp"

namespace weft::qos {

/// The iterations per second of a job's slowest process: medians over windows, but `controlled`,
/// which is the mean.
struct LiveJobOutcome {
  std::string name;
  std::string kind;
  double alone = 0;
  double on_default = 0;
  double controlled = 0;  ///< all windows with the controller, those in which it searched included
  double settled = 0;     ///< windows with the levels that it ended with
};

/// The work of all jobs with some levels, as shares of the work of each alone.
struct LivePoint {
  std::string levels;  ///< "default", "job victim: weight 8", "controller"
  std::vector<double> of_alone;
  /// No other point is better for one job and as good for all others.
  bool is_best_trade_off = false;
};

struct LiveOutcome {
  std::vector<LiveJobOutcome> jobs;
  std::vector<LivePoint> points;
  Configuration levels;  ///< that the controller ended with
  /// The first window after which the controller tried nothing; the number of windows if it did.
  std::uint32_t iterations_to_best = 0;
};

/// The testbed for the scenario's network: as many hosts, its rates, `buffer` as the switches'
/// queues. Errors name the key: the topology is neither a star nor two switches with half of the
/// hosts each and one cable between them.
Result<testbed::TestbedOptions> testbed_for(const ExperimentOptions& options);

/// Called before each window with the phase and the number of windows done, of how many. False ends
/// it.
using LiveProgress =
    std::function<bool(const std::string& phase, std::uint32_t done, std::uint32_t of)>;

/// Takes about (jobs · (1 + 3) + 2) · live_windows + iterations periods. For a process with one
/// thread, which forks. Errors: jobs that are no workloads or whose computation has no time of its
/// own; no testbed; a process that ended; cancelled.
Result<LiveOutcome> run_live(const ExperimentOptions& options, const LiveProgress& progress);

}  // namespace weft::qos
