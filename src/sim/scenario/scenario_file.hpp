// SPDX-License-Identifier: Apache-2.0
// Scenarios that somebody wrote down, in TOML; docs/simulator.md lists the keys. Nothing in the
// file is trusted. Errors read "FILE:LINE: what is wrong and what to do".
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "sim/scenario/scenario.hpp"
#include "weft/result.hpp"

namespace weft::sim {

/// Reads a file of at most 1 MiB. Files that it names count from its directory. Errors: what cannot
/// be read or parsed, unknown keys, values of the wrong kind or out of range. What only the built
/// network can tell (more nodes than hosts, a router that does not fit) comes out when it is made.
///
/// `settings` go in place of what the file says, or in addition to it: "network.router=minimal",
/// a key with its sections and a TOML value; what is no TOML value is text. A list is replaced as a
/// whole. What is wrong with one begins with "--set KEY=VALUE: ".
Result<Scenario> read_scenario(const std::string& path, std::span<const std::string> settings = {});
/// The same from memory; `file` is for messages, and for the directory of files that it names.
Result<Scenario> parse_scenario(std::string_view text, const std::string& file,
                                std::span<const std::string> settings = {});

}  // namespace weft::sim
