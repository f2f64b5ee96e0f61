// SPDX-License-Identifier: Apache-2.0
// The single files that a command writes, as for --trace or --json: none may replace a file that
// the command reads, or another one that it writes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/scenario.hpp"
#include "weft/result.hpp"

namespace weft::cli {

/// The other files of a command.
struct CommandFiles {
  std::vector<std::string> read = {};
  std::vector<std::string> written = {};
  std::vector<std::string> directories = {};  ///< of --out, where it writes records and pages
};

/// The scenario's own file, and those that it names.
std::vector<std::string> files_of(const sim::Scenario& scenario);

/// Refuses an output that is one of the other files of the command, under any name, whether or not
/// --force is there. Errors name `option`.
Result<void> refuse_other_files(std::string_view option, const std::string& path,
                                const CommandFiles& others);

}  // namespace weft::cli
