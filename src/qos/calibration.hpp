// SPDX-License-Identifier: Apache-2.0
// How long jobs compute so that computation is a chosen share of an iteration.
#pragma once

#include "jobs/workload_job.hpp"
#include "qos/window.hpp"

namespace weft::qos {

/// Sets `pattern.compute` of a job with `computation`, so that the rank that computes the longest
/// does so for that share of an iteration when the job runs alone on these hosts. By measuring: a
/// job's communication overlaps with computation of its other ranks. Errors: the window is too
/// short for an iteration.
Result<void> calibrate(jobs::WorkloadJob& job, const sim::Scenario& scenario,
                       const std::vector<std::uint32_t>& hosts, std::uint32_t levels,
                       PicoDuration window);

}  // namespace weft::qos
