// SPDX-License-Identifier: Apache-2.0
// The command line describes itself: manual page and shell completion are made from the options as
// they are registered, so that they cannot differ from the program's.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace weft::cli {

/// The beginnings of an option's values, by its long name, or by its command's and its own. Words
/// that end with ':' are followed by something else, often the name of a file.
using Suggestions = std::map<std::string, std::vector<std::string>>;

/// The type's name of an option whose value is a list with commas.
inline constexpr const char* words_type = "NAME,...";

struct OptionDescription {
  std::vector<std::string> names;  ///< "-o", "--out"; of a positional one, its name alone
  std::string value;               ///< what follows it, "N"; empty for a flag and a positional one
  std::string text;
  std::string group;  ///< heading in `--help`, "Options" when none was set
  std::string default_value;
  std::vector<std::string> choices;      ///< when only these values are taken
  std::vector<std::string> suggestions;  ///< offered; it takes other values, too
  bool positional = false;
  bool required = false;
  bool takes_file = false;
  bool is_list = false;  ///< values with commas between them
};

struct CommandDescription {
  std::string name;  ///< as typed: "weft stream local"
  std::string text;
  std::string footer;  ///< examples, as `--help` prints them
  std::vector<OptionDescription> options;
  std::vector<CommandDescription> commands;
};

/// Everything registered in `root` and below that is not hidden (in group "").
CommandDescription describe(const CLI::App& root, const Suggestions& suggestions = {});

/// roff, for man(1), section 1.
std::string man_page(const CommandDescription& root, std::string_view version);
/// Scripts for the shells; each is sourced, or installed where the shell looks for it.
std::string bash_completion(const CommandDescription& root);
std::string zsh_completion(const CommandDescription& root);
std::string fish_completion(const CommandDescription& root);

/// Adds the hidden command `generate man|bash|zsh|fish`, which prints one of the above. To be
/// called after all other commands were added.
void add_generate_command(CLI::App& root, std::string_view version, Suggestions suggestions = {});

}  // namespace weft::cli
