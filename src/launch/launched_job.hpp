// SPDX-License-Identifier: Apache-2.0
// What a launcher's options say of a job, real or simulated.
#pragma once

#include "fabric/choice/fabric_choice.hpp"
#include "launch/launch.hpp"
#include "process/job_link.hpp"

namespace weft {

/// How long a host may answer nothing until it counts as gone.
Duration peer_timeout_of(const LaunchOptions& options);

/// The job as all its processes have it in common. Who a process is, and where, is the caller's to
/// add.
JobDescription describe_job(const LaunchOptions& options, const JobSecret& secret);

}  // namespace weft
