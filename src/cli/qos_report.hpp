// SPDX-License-Identifier: Apache-2.0
// An experiment with service levels as its page shows it.
#pragma once

#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "qos/experiment.hpp"
#include "report/qos_page.hpp"

namespace weft::cli {

struct Summary {
  double median = 0, mean = 0, best = 0, worst = 0;
};
Summary summary_of(const std::vector<double>& improvements);
/// Linear interpolation between the two nearest order statistics.
double median_of(std::vector<double> values);

/// The output of `--json`: one JSON object.
std::string qos_json(const report::QosRecord& record, double wall_s);
/// Writes qos.json, with the printed object and all of the record, and qos.html; nothing when `out`
/// is empty. False: it has reported an error. `says`: prints the path of the page.
bool write_qos(const report::QosRecord& record, const std::string& json, const std::string& out,
               bool says, Outcome& outcome);

report::QosRecord record_of(const qos::ExperimentOptions& options,
                            const qos::ExperimentOutcome& outcome, const std::string& command);

}  // namespace weft::cli
