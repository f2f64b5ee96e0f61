// SPDX-License-Identifier: Apache-2.0
// The drawing on a network's page, from its record: reduced where a picture could not show all of
// it. web/network.js draws it.
#pragma once

#include <string>

#include "report/network_record.hpp"

namespace weft::report {

/// Hosts are drawn up to so many; networks of more are drawn without.
inline constexpr std::size_t most_drawn_hosts = 256;
/// The most cables to draw: those with the highest load.
inline constexpr std::size_t most_drawn_cables = 4000;
/// The most rows of a picture over time, and the most of its steps.
inline constexpr std::size_t most_drawn_rows = 24;
inline constexpr std::size_t most_drawn_steps = 100;

/// "s3" of "switch 3" and "h12" of "host 12", for axes; names that somebody gave stay as they are.
std::string short_name(const NetworkVertex& vertex);
/// "switch 3 → host 12"
std::string link_name(const NetworkTopology& topology, std::uint32_t link);
/// The class of links that it belongs to: "from hosts", "level 1 to 2", "between groups".
std::string link_class(const NetworkTopology& topology, std::uint32_t link);
std::size_t host_count(const NetworkTopology& topology);

/// One JSON object.
std::string drawing_of(const NetworkRecord& record);

}  // namespace weft::report
