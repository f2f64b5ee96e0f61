// SPDX-License-Identifier: Apache-2.0
// Scenarios as TOML files; docs/simulator.md lists the keys. Nothing in the file is trusted. Errors
// read "FILE:LINE: what is wrong and what to do".
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "sim/scenario/scenario.hpp"
#include "weft/result.hpp"

namespace weft::sim {

/// Reads a file of at most 1 MiB. Files that it names count from its directory. Errors: an
/// unreadable or malformed file, unknown keys, values of the wrong kind or out of range. Errors
/// that only the built network shows (more nodes than hosts, a router that does not fit) come when
/// it is made.
///
/// `settings` replace keys of the file, or add to them: "network.router=minimal", a key with its
/// sections and a TOML value; a value that is not TOML is text. A list is replaced as a whole. An
/// error in a setting begins with "--set KEY=VALUE: ".
Result<Scenario> read_scenario(const std::string& path, std::span<const std::string> settings = {});
/// The same of --fabric sim:PATH, which several processes and steps read. A pipe is refused: only
/// the first could.
Result<Scenario> read_fabric_scenario(const std::string& path,
                                      std::span<const std::string> settings = {});
/// The same from memory; `file` is for messages, and for the directory of files that it names.
Result<Scenario> parse_scenario(std::string_view text, const std::string& file,
                                std::span<const std::string> settings = {});

}  // namespace weft::sim
