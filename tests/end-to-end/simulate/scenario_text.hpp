// SPDX-License-Identifier: Apache-2.0
// Scenarios that tests write into files.
#pragma once

#include <string>

namespace weft::e2e {

/// A switch, and a job of three input and three compute nodes on it.
inline const std::string small_job = R"(seed = 3
[network]
topology = "star:8"
preset = "ib-edr"
[job]
inputs = 3
computes = 3
source = "pattern:?size=16KiB&sizes=uniform"
sink = "check:"
timeslices = 300
timeslices-per-interval = 32
peer-timeout = "5ms"
)";

/// Traffic without a job.
inline const std::string small_traffic = R"(seed = 5
duration = "100us"
[network]
topology = "fat-tree:16"
preset = "ib-edr"
[[traffic]]
load = 0.5
[[traffic]]
pattern = "incast"
load = 0.01
)";

}  // namespace weft::e2e
