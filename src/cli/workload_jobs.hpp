// SPDX-License-Identifier: Apache-2.0
// The jobs of a scenario that are no streams: [[jobs]] with kind = "workload".
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "qos/experiment.hpp"
#include "sim/job/ranks_job.hpp"
#include "sim/scenario/scenario.hpp"
#include "stream/simulated/simulated_job.hpp"
#include "weft/result.hpp"

namespace weft::cli {

/// One of them, and what became of it.
struct WorkloadRun {
  std::size_t position = 0;  ///< among the scenario's jobs
  sim::RanksJobFigures figures;
};

/// Reads them, makes them in a simulation and keeps what became of them.
class WorkloadJobs {
 public:
  /// Takes the workloads away from `scenario.jobs`: streams are left. Errors, with line, key and
  /// fix: a kind that there is not, what a workload's options say wrong, jobs none of which ends.
  Result<void> take_from(sim::Scenario& scenario);

  bool empty() const { return plans_.empty(); }
  std::size_t size() const { return plans_.size(); }
  /// For one simulation after the other; refers to this object.
  std::vector<stream::JobBeside> beside();
  /// Of the latest simulation, in the scenario's order.
  const std::vector<WorkloadRun>& runs() const { return runs_; }
  /// How many of the scenario's streams stand before it.
  std::size_t streams_before(const WorkloadRun& run) const { return plan_of(run).streams_before; }
  /// As one JSON object.
  std::string to_json(const WorkloadRun& run) const;
  /// A table of all.
  void print() const;

 private:
  struct Plan {
    std::size_t position = 0;
    std::size_t streams_before = 0;
    sim::ScenarioJob job;
    qos::WorkloadJob workload;
    std::unique_ptr<sim::Program> program;
    sim::RanksJobOptions options;
  };

  Result<void> add(const sim::Scenario& scenario, sim::ScenarioJob job, std::size_t position,
                   std::size_t streams_before);
  const Plan& plan_of(const WorkloadRun& run) const;

  std::deque<Plan> plans_;
  std::vector<WorkloadRun> runs_;
};

}  // namespace weft::cli
