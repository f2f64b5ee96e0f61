// SPDX-License-Identifier: Apache-2.0
// The description of a job, real or simulated, from a launcher's options.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "fabric/choice/fabric_choice.hpp"
#include "launch/launch.hpp"
#include "launch/remote_host.hpp"
#include "process/job_link.hpp"
#include "weft/result.hpp"

namespace weft {

/// Returns how long a process may be gone until what waits for it fails.
Duration timeout_of(const LaunchOptions& options);

/// Returns how long a host may answer nothing until it counts as gone.
Duration peer_timeout_of(const LaunchOptions& options);

/// Checks whether a host has time to answer within that. Errors name `asked_by`: the option, or the
/// file and its key.
Result<void> check_peer_timeout(std::string_view asked_by, Duration asked);

/// Checks whether connections are proved alive in time for that. Errors name `asked_by`: the
/// option, or the file and its key.
Result<void> check_heartbeat(std::string_view asked_by, const LaunchOptions& options);

/// The part of the job's description that all its processes share. The caller adds each process's
/// number and place.
JobDescription describe_job(const LaunchOptions& options, const JobSecret& secret);

/// The ranks of a job whose addresses a file has.
struct FilePlaces {
  JobSecret secret;
  std::uint32_t ranks = 0;
  std::vector<std::uint32_t> here;  ///< on this machine: at least as many as processes to start
};
Result<FilePlaces> places_of_file(const LaunchOptions& options);

/// How each host of the options starts its processes, in their order.
std::vector<RemoteOptions> remote_options(const LaunchOptions& options, const JobSecret& secret);

}  // namespace weft
