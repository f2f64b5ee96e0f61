// SPDX-License-Identifier: Apache-2.0
// What a launcher's options say of a job, real or simulated.
#pragma once

#include <string_view>

#include "fabric/choice/fabric_choice.hpp"
#include "launch/launch.hpp"
#include "process/job_link.hpp"
#include "weft/result.hpp"

namespace weft {

/// How long a host may answer nothing until it counts as gone.
Duration peer_timeout_of(const LaunchOptions& options);

/// Whether connections are proved alive in time for that. Errors name `asked_by`: the option, or
/// the file and its key.
Result<void> check_heartbeat(std::string_view asked_by, const LaunchOptions& options);

/// The job as all its processes have it in common. Who a process is, and where, is the caller's to
/// add.
JobDescription describe_job(const LaunchOptions& options, const JobSecret& secret);

}  // namespace weft
