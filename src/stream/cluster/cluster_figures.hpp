// SPDX-License-Identifier: Apache-2.0
// Helpers of node 0 to merge the others' figures.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clocks.hpp"
#include "stream/node/node_report.hpp"
#include "weft/stream.hpp"
#include "weft/time.hpp"

namespace weft::stream {

/// Moves all instants of a report from the node's own clock to node 0's.
void shift_clock(NodeReport& report, ClockOffset<LeaderClock> leader);

/// The options that nodes must share, as lines of "--name value".
std::string shared_options(const StreamOptions& options);
/// The first difference: "--computes 4 instead of --computes 3". Nothing when they are the same.
std::optional<std::string> options_differ(std::string_view theirs, std::string_view ours);

}  // namespace weft::stream
