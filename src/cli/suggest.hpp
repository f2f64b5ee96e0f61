// SPDX-License-Identifier: Apache-2.0
// Error texts for mistyped commands, options and values: "did you mean …?".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace weft::cli {

/// Returns the innermost command that the parsed command line names.
const CLI::App& deepest_command(const CLI::App& root);
/// Returns the command with its parents, as users type it: "weft stream local".
std::string full_name(const CLI::App& command);
/// Returns the names of the command's subcommands that help shows.
std::vector<std::string> commands_of(const CLI::App& command);

/// Returns the words of the command line that no command took, those of the innermost first: words
/// behind "--" that a command has no use for are its parents'.
std::vector<std::string> unread_words(const CLI::App& root);

/// Returns the error text for a word that `command` does not know, as an option or as the name of a
/// command below it.
std::string explain_option(const CLI::App& command, const std::string& word);
std::string explain_command(const CLI::App& command, const std::string& word);

/// Returns the error text for a command line that `root` refused because of unknown words.
std::string explain_unknown(const CLI::App& root);

/// Rewrites CLI11's error text for a refused value so that it names the right form. Returns a text
/// that it does not know unchanged.
std::string explain_value(const std::string& text);

/// Finds the command below `root` that `words` name; returns null with the reason in `error`.
const CLI::App* find_command(const CLI::App& root, std::span<const std::string> words,
                             std::string& error);

}  // namespace weft::cli
