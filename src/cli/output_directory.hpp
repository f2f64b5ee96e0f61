// SPDX-License-Identifier: Apache-2.0
// --out DIR, --json FILE: conditions that they have to meet before a command starts to work.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/whole_file.hpp"
#include "weft/result.hpp"

namespace CLI {
class App;
}

namespace weft::cli {

/// --force of a command.
void add_force_option(CLI::App& command, bool& force, const char* group = "Output");

/// Refuses a directory in which a file has the name of a record or a report but is none that weft
/// wrote, unless `force`. A command that `reads_records` of the directory writes only reports.
Result<void> refuse_foreign_files(const std::string& directory, bool force, std::string_view option,
                                  bool reads_records = false);

/// The error of writing what `option` names.
Error of_option(const char* option, const Error& error);

/// The file that `option` names, made before a command starts to work: nothing runs for a record
/// that cannot be written. None for an empty name, and for that of standard output.
inline constexpr std::string_view standard_output = "-";
Result<std::optional<WholeFile>> create_record(const std::string& path, const char* option);
Result<void> write_record(WholeFile& file, std::string_view text, const char* option);

/// Makes the directory, and refuses one in which a file has the name of a record or a report but is
/// none that weft wrote, unless `force`. Records and reports of earlier runs are replaced: that is
/// what the directory is for. Does nothing for an empty name. Errors: the name is a file's (code
/// invalid_argument); the system does not let anybody write there (io). They name `option`.
Result<void> prepare_directory(const std::string& directory, bool force,
                               std::string_view option = "--out");

}  // namespace weft::cli
