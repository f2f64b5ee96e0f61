// SPDX-License-Identifier: Apache-2.0
// An experiment with service levels as its page shows it.
#pragma once

#include <string>

#include "qos/experiment.hpp"
#include "report/qos_page.hpp"

namespace weft::cli {

report::QosRecord record_of(const qos::ExperimentOptions& options,
                            const qos::ExperimentOutcome& outcome, const std::string& command);

}  // namespace weft::cli
