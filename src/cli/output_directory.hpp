// SPDX-License-Identifier: Apache-2.0
// --out DIR: conditions that a directory has to meet before a command starts to work.
#pragma once

#include <string>
#include <string_view>

#include "weft/result.hpp"

namespace CLI {
class App;
}

namespace weft::cli {

/// --force of a command.
void add_force_option(CLI::App& command, bool& force, const char* group = "Output");

/// Refuses a directory in which a file has the name of a record or a report but is none that weft
/// wrote, unless `force`.
Result<void> refuse_foreign_files(const std::string& directory, bool force,
                                  std::string_view option = "--out");

/// The error of writing what `option` names.
Error of_option(const char* option, const Error& error);

/// Makes the directory, and refuses one in which a file has the name of a record or a report but is
/// none that weft wrote, unless `force`. Records and reports of earlier runs are replaced: that is
/// what the directory is for. Does nothing for an empty name. Errors: the name is a file's (code
/// invalid_argument); the system does not let anybody write there (io). They name `option`.
Result<void> prepare_directory(const std::string& directory, bool force,
                               std::string_view option = "--out");

}  // namespace weft::cli
