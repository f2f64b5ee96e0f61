// SPDX-License-Identifier: Apache-2.0
// Turns a user's request into the knobs of a run, by a layer's native figures.
#pragma once

#include <string>

#include "emulate/calibration.hpp"
#include "emulate/control/control_block.hpp"
#include "emulate/run.hpp"
#include "weft/result.hpp"

namespace weft::emulate {

/// The requested figures, and the native ones that they are measured against.
struct Setting {
  NativeAndAsked<double> latency_ns;
  NativeAndAsked<double> bandwidth;
};

/// Sets latency, overhead, rate and method. Errors: a percentage or a latency in all of a layer
/// that was not calibrated (not_found); a latency below the native one, a percentage that
/// is a rate below 1 kB/s or above 1 TB/s (invalid_argument).
Result<Setting> set_knobs(const EmulationRequest& request, const std::string& layer,
                          const Calibration& calibration, Knobs& knobs);

}  // namespace weft::emulate
