// SPDX-License-Identifier: Apache-2.0
// "Did you mean": the name that a mistyped one is nearest to.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace weft::cli {

/// How many letters must be inserted, left out, exchanged for others or swapped with their
/// neighbour to make `a` of `b`.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The one of `known` that `word` is likely to mean; empty when none is near.
std::string nearest(std::string_view word, std::span<const std::string> known);

/// The last command of the line that was understood.
const CLI::App& deepest_command(const CLI::App& root);
/// As typed: "weft stream local".
std::string full_name(const CLI::App& command);
/// Names of the commands below it that are for people.
std::vector<std::string> commands_of(const CLI::App& command);

/// The error text for a command line that `root` has refused because of unknown words.
std::string explain_unknown(const CLI::App& root);

/// The same as the text of CLI11 for a value that an option refuses, in words that name the right
/// form; that text where there is nothing to add.
std::string explain_value(const std::string& text);

/// The command below `root` that `words` name, or null with the reason in `error`.
const CLI::App* find_command(const CLI::App& root, std::span<const std::string> words,
                             std::string& error);

}  // namespace weft::cli
