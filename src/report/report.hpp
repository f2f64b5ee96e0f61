// SPDX-License-Identifier: Apache-2.0
// The report: one HTML file about one or several runs, with the charts of paper 1 (Figs. 3 to 9).
// It carries everything it needs and works from file:// without a network (docs/report.md).
#pragma once

#include <span>
#include <string>

#include "report/network_record.hpp"
#include "report/run_record.hpp"
#include "weft/result.hpp"

namespace weft::report {

/// The whole page. `runs` are shown in this order; at least one. All text of the records is
/// escaped: a record cannot add elements or scripts to the page. With `with_network` there is a
/// page about the network beside it, network.html.
std::string report_page(std::span<const RunRecord> runs, bool with_network = false);

/// The whole page about a simulated network, with the same care.
std::string network_page(const NetworkRecord& record);

/// Reads DIR/compare.json and DIR/run.json, whichever are there, and writes DIR/report.html; reads
/// DIR/network.json, if it is there, and writes DIR/network.html; likewise DIR/qos.json and
/// DIR/qos.html. Returns the path of the report, or if there are no runs that of the network's page
/// or else of the experiment's with service levels. Errors are one line that names the file.
Result<std::string> write_report(const std::string& dir);

}  // namespace weft::report
