// SPDX-License-Identifier: Apache-2.0
// Checks of a job against this machine before its processes start: every process would say the same
// of what is wrong, or wait without end.
#pragma once

#include <cstdint>

#include "launch/launch.hpp"
#include "weft/result.hpp"

namespace weft {

/// Returns the descriptors of the process that has most of them, the launcher or a rank, in a job
/// of so many ranks.
std::uint64_t descriptors_needed(const LaunchOptions& options, std::uint32_t ranks);

/// Raises this process's limit of open files, which the ranks inherit, where the job needs more.
/// Refuses a job that needs more than the hard limit. Other hosts have their own limits.
Result<void> allow_ranks(const LaunchOptions& options, std::uint32_t ranks);

/// Checks for descriptors, and for a directory for messages that exceed the outbox.
Result<void> admit(const LaunchOptions& options);

}  // namespace weft
