// SPDX-License-Identifier: Apache-2.0
// An experiment with service levels (paper 5, 5.2): jobs on randomly chosen nodes of one network,
// simulated window by window: each alone (isolation), all on one level (default), and all on the
// levels that a controller chooses from window to window.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/qos/controllers.hpp"
#include "jobs/workload_job.hpp"
#include "qos/link_loads.hpp"
#include "sim/scenario/scenario.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft::qos {

/// One of several processes that run an experiment together: its tracks are dealt out among them,
/// and meet in the directory.
struct ExperimentShare {
  std::uint32_t rank = 0;
  std::uint32_t processes = 1;
  /// Waits until all processes have come so far; the same error in all when one has failed.
  std::function<Result<void>(const Result<void>&)> agree;
};

struct ExperimentOptions {
  sim::Scenario scenario;  ///< network, router and seed; its jobs are those of workloads_of
  std::string controller = "best";
  Algorithm1Options algorithm_1;
  std::uint32_t predictions = 0;  ///< of a search in a twin, at most; 0: by the number of jobs
  Duration period = Duration::milliseconds(60);  ///< P
  std::uint32_t iterations = 500;
  std::uint32_t placements = 8;
  /// Every job has so many runs that differ by their noise, and one is drawn for each window.
  std::uint32_t variants = 5;
  /// With real processes (qos/live): of each measurement beside the controller's.
  std::uint32_t live_windows = 10;
  unsigned threads = 1;  ///< simulations at a time; the result does not depend on it
  /// The directory that keeps simulated windows, so that the same experiment goes on from there;
  /// empty: none.
  std::string directory;
  bool replaces = false;  ///< the windows that another experiment left there
  ExperimentShare share;  ///< several processes need a directory that all of them see
  /// Called from several threads, also at once: a search has made so many further predictions.
  std::function<void(std::size_t)> on_predictions = [](std::size_t) {};
};

/// The options of the scenario's [qos], completed for its jobs. Errors name file, line, key, value
/// and fix.
Result<ExperimentOptions> options_of(sim::Scenario scenario);

/// A job at one placement, over all windows. Work is that of its slowest process, window by window.
struct JobOutcome {
  std::string name;
  std::string kind;
  std::uint32_t placement = 0;
  std::uint64_t isolated_work = 0;
  std::uint64_t default_work = 0;
  std::uint64_t controlled_work = 0;

  /// W of the paper's first chart: I_D / I_B − 1.
  double default_of_isolation() const;
  /// I_Q / I_B − 1.
  double controlled_of_isolation() const;
  /// The paper's second chart: I_Q / I_D − 1.
  double improvement() const;
};

/// One assignment of processes to hosts.
struct PlacementOutcome {
  Configuration levels;             ///< that held in the last window
  std::uint32_t settled_after = 0;  ///< windows in which the controller tried something, at the end
  /// The mean of the jobs' improvements in each window.
  std::vector<double> improvements;
  /// Configurations accepted by the beginning of each window (Fig. 16).
  std::vector<std::uint32_t> accepted;
};

/// The bytes of one level that links of one kind carried, as a share of their capacity.
struct LevelLoad {
  std::string links;
  Level level = 0;
  std::uint8_t weight = 1;
  double on_default = 0;
  double controlled = 0;
};

struct ExperimentOutcome {
  std::vector<JobOutcome> jobs;     ///< placement by placement
  std::vector<std::string> absent;  ///< jobs that would have arrived after the last window
  std::vector<PlacementOutcome> placements;
  std::vector<LevelLoad> loads;         ///< in the last window of the first placement
  NetworkLoads on_default, controlled;  ///< of the same window, link by link
  /// The first iteration after which a controller tried nothing any more, at the slowest placement;
  /// the number of all iterations, if it never ended.
  std::uint32_t iterations_to_best = 0;
};

/// Called from several threads, but one at a time: so many windows of so many are done. False ends
/// the experiment.
using ExperimentProgress = std::function<bool(std::uint64_t done, std::uint64_t of)>;

/// Errors: those of the scenario's network; more processes than hosts; an unknown controller; a
/// directory that another experiment left its windows in; ErrorCode::cancelled when `progress`
/// ended it: windows simulated so far are in the directory. Among several processes the first one
/// has the outcome, and `progress` is told of the windows that are its own.
Result<ExperimentOutcome> run_experiment(const ExperimentOptions& options,
                                         const ExperimentProgress& progress = {});

}  // namespace weft::qos
