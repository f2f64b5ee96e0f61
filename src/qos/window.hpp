// SPDX-License-Identifier: Apache-2.0
// One window of an experiment: some jobs on one network from its beginning to its end.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/qos/controller.hpp"
#include "qos/experiment.hpp"
#include "sim/workload/program.hpp"

namespace weft::qos {

/// A job where it runs, in the variant that was drawn.
struct PlacedJob {
  const WorkloadJob* job = nullptr;
  const sim::Program* program = nullptr;
  std::vector<std::uint32_t> hosts;
  std::uint64_t noise_seed = 0;
};

/// Iterations of every process, by job.
using WindowWork = std::vector<std::vector<std::uint64_t>>;

/// Levels of processes are those of `configuration`, over all jobs in their order; without one all
/// have the default level. The network has `levels` lanes in either case, so that buffers are
/// alike.
Result<WindowWork> run_window(const sim::Scenario& scenario, const std::vector<PlacedJob>& jobs,
                              const Configuration* configuration, std::uint32_t levels,
                              PicoDuration period);

}  // namespace weft::qos
