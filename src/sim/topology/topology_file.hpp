// SPDX-License-Identifier: Apache-2.0
// Topologies written by hand (TOML) or found by a subnet's tools (ibnetdiscover, OpenSM). Nothing
// in the file is trusted. Errors read "FILE:LINE: what is wrong and what to do".
#pragma once

#include <string>
#include <string_view>

#include "sim/topology/topology.hpp"
#include "weft/result.hpp"

namespace weft::sim {

/// Reads a file of at most 64 MiB in any of the formats, which its lines tell apart. Its topology
/// has the name "file:PATH" and no shape.
Result<Topology> read_topology_file(const std::string& path);
/// The same from memory; `file` is for messages and the name.
Result<Topology> parse_topology_file(std::string_view text, const std::string& file);

/// TOML: `hosts` and `switches` list names; `cables` lists pairs of names, or tables with `from`,
/// `to` and, if wanted, `count` (parallel cables) and `kind` ("local" or "global").
Result<Topology> parse_toml_topology(std::string_view text, const std::string& file);
/// Reads the output of `ibnetdiscover`. Each connected port of a channel adapter becomes a host, in
/// the order of the file; labels are the node descriptions where they are unique.
Result<Topology> parse_ibnetdiscover(std::string_view text, const std::string& file);
/// Reads OpenSM's `opensm-subnet.lst`. The same rules.
Result<Topology> parse_opensm_subnet(std::string_view text, const std::string& file);

}  // namespace weft::sim
