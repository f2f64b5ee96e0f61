// SPDX-License-Identifier: Apache-2.0
// Refuses options of a job that make no sense in a simulation.
#pragma once

#include "sim/scenario/scenario.hpp"
#include "weft/result.hpp"
#include "weft/stream.hpp"

namespace weft::stream {

/// Errors name the option that a simulation cannot have, and the alternative. `check_options`
/// checks the other options.
Result<void> check_in_scenario(const sim::Scenario& scenario, const StreamOptions& options,
                               const LocalOptions& local);

}  // namespace weft::stream
