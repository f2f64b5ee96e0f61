// SPDX-License-Identifier: Apache-2.0
// The real target of a sweep: runs of unmodified programs under emulation (emulate/run.hpp).
#pragma once

#include "emulate/sweep/sweep.hpp"

namespace weft::emulate {

/// Runs the question's command at a point. Its time is that of the slowest rank between MPI_Init
/// and MPI_Finalize; of a program that tells no such time, the command's. One thread.
SweepTarget emulated_target(const SweepQuestion& question);

/// The share of the processors' time that the hypervisor gave to others, between two texts of
/// /proc/stat; 0 where they do not tell.
double stolen_share(std::string_view before, std::string_view after);

}  // namespace weft::emulate
