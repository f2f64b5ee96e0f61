// SPDX-License-Identifier: Apache-2.0
// --out DIR, --json FILE: conditions that they have to meet before a command starts to work.
#pragma once

#include <filesystem>
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

/// The directory without symbolic links and dots, whether or not it is there.
std::filesystem::path canonical(const std::string& directory);
/// The directory's entry that a file of that name takes: symbolic links count in its directory
/// only, since a link at the end is replaced.
std::filesystem::path entry_of(const std::string& path);

/// Whether `path` is, or would be, a record or a page in the directory. Nothing is in an empty
/// name.
bool is_record_in(const std::string& directory, const std::string& path);

/// Takes a record that another command left in the directory out of the way: one that weft wrote,
/// or any with `force`.
void forget_record(const std::string& directory, const char* name, bool force);

/// The error of writing what `option` names.
Error of_option(std::string_view option, const Error& error);

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
