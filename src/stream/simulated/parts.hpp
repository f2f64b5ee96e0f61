// SPDX-License-Identifier: Apache-2.0
// The exchange between parts of a divided simulation about their jobs, between windows. All calls
// are collective; alone, they return their arguments.
#pragma once

#include <vector>

#include "sim/partition/exchange.hpp"
#include "stream/node/node_report.hpp"
#include "weft/stream.hpp"

namespace weft::stream {

/// The reports of all parts' nodes, by node.
std::vector<NodeReport> gather_reports(sim::Exchange& exchange, std::vector<NodeReport> own);

/// Sums of all that adds up.
StreamProgress sum_progress(sim::Exchange& exchange, StreamProgress own);

}  // namespace weft::stream
