// SPDX-License-Identifier: Apache-2.0
// The jobs of a scenario that are no streams: [[jobs]] with kind = "workload" or "trace".
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "sim/job/job_beside.hpp"
#include "sim/job/ranks_job.hpp"
#include "sim/scenario/scenario.hpp"
#include "trace/replay/trace.hpp"
#include "weft/result.hpp"

namespace weft::jobs {

/// One of these jobs, and its figures.
struct RanksRun {
  std::size_t position = 0;  ///< among the scenario's jobs
  sim::RanksJobFigures figures;
};

/// Reads these jobs, creates them in a simulation and keeps their figures.
class RanksJobs {
 public:
  /// Takes them away from `scenario.jobs`: streams are left. Errors, with line, key and fix: an
  /// unknown kind, wrong options of a job, a trace that cannot be replayed, jobs none of which
  /// ends.
  Result<void> take_from(sim::Scenario& scenario);
  /// The same beside a program, which ends by itself; [job] is taken away and does not run. Errors
  /// as above; a stream among [[jobs]].
  Result<void> take_beside_program(sim::Scenario& scenario);

  bool empty() const { return plans_.empty(); }
  std::size_t size() const { return plans_.size(); }
  /// For one simulation after the other; refers to this object.
  std::vector<sim::JobBeside> beside();
  /// Returns the jobs of the latest simulation, in the scenario's order.
  const std::vector<RanksRun>& runs() const { return runs_; }
  /// Returns how many of the scenario's streams stand before it.
  std::size_t streams_before(const RanksRun& run) const { return plan_of(run).streams_before; }
  /// As one JSON object.
  std::string to_json(const RanksRun& run) const;

 private:
  struct Plan {
    std::size_t position = 0;
    std::size_t streams_before = 0;
    sim::ScenarioJob job;
    std::string kind;
    std::string what;  ///< its pattern, or the trace's file
    std::uint32_t ranks = 0;
    sim::RanksJobOptions options;
    std::shared_ptr<const sim::Program> program;  ///< of a workload
    std::shared_ptr<const trace::Trace> trace;
    double compute_factor = 1;  ///< of a trace
  };

  Result<std::vector<sim::ScenarioJob>> take(const sim::Scenario& scenario);
  Result<void> add(const sim::Scenario& scenario, sim::ScenarioJob job, const Plan& of);
  static Result<std::unique_ptr<sim::Job>> make(const Plan& plan, sim::World& world,
                                                std::vector<std::uint32_t> hosts);
  const Plan& plan_of(const RanksRun& run) const;

  std::deque<Plan> plans_;
  std::vector<RanksRun> runs_;
};

}  // namespace weft::jobs
