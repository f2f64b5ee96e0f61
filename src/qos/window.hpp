// SPDX-License-Identifier: Apache-2.0
// One window of an experiment: some jobs on one network from its beginning to its end.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/qos/controller.hpp"
#include "jobs/workload_job.hpp"
#include "qos/link_loads.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/workload/program.hpp"
#include "weft/result.hpp"

namespace weft::qos {

/// A job where it runs, in the variant that was drawn.
struct PlacedJob {
  const jobs::WorkloadJob* job = nullptr;
  const sim::Program* program = nullptr;  ///< null: the job is a trace
  std::vector<std::uint32_t> hosts;
  std::uint64_t noise_seed = 0;
  std::uint64_t first_iteration = 0;
};

/// The work of a job's processes.
struct JobWork {
  std::vector<std::uint64_t> iterations;
  std::vector<double> progress;  ///< iterations with the share of the next one
  std::vector<PicoDuration> waited;

  /// Returns the work of the slowest process.
  std::uint64_t work() const { return JobWindow{.iterations = iterations}.work(); }
  double progress_of_slowest() const {
    return JobWindow{.progress = progress}.progress_of_slowest();
  }
};
using WindowWork = std::vector<JobWork>;

/// Levels of processes are those of `configuration`, over all jobs in their order; without one all
/// have the default level. The network has `levels` lanes in either case, so that buffers are
/// alike. `loads`: receives the loads of links.
Result<WindowWork> run_window(const sim::Scenario& scenario, const std::vector<PlacedJob>& jobs,
                              const Configuration* configuration, std::uint32_t levels,
                              PicoDuration period, NetworkLoads* loads = nullptr);

/// The error that no iteration of a job ends within a window, even though the job is alone.
Error no_iteration(const jobs::WorkloadJob& job, PicoDuration window);

}  // namespace weft::qos
