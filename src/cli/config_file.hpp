// SPDX-License-Identifier: Apache-2.0
// Configuration files: TOML with the names of a command's options.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace weft::cli {

/// Gives `command` the option --config. Once the command line is parsed, the file's values go to
/// the options that the command line did not mention; file names (options of the type FILE) count
/// from the directory of the configuration. Throws CLI::ParseError, one line with file
/// and line number, when there is no such file, it is no TOML, or names no option of the command.
/// `before_file` is called in between.
void add_config_option(CLI::App& command, std::function<void()> before_file = {});

/// Gives the values to the command's option --NAME, unless it has some already; a flag takes "true"
/// and "false". `where` is "FILE:LINE". Throws CLI::ParseError, which begins with it.
void apply_setting(CLI::App& command, const std::string& where, const std::string& name,
                   std::vector<std::string> values);

}  // namespace weft::cli
