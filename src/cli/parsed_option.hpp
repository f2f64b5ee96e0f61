// SPDX-License-Identifier: Apache-2.0
// Options whose text is read by a parser that yields a Result, as those of base/units.hpp.
#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <vector>

#include "base/units.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace weft::cli {

/// An option that hands its text to `read`, which yields an error text, or nothing.
CLI::Option* add_text_option(CLI::App& command, const std::string& name,
                             std::function<std::string(const std::string&)> read,
                             const std::string& description, const std::string& shown_default,
                             const char* type = "TEXT");

/// The word for an amount of that type in help texts.
template <class Value>
constexpr const char* type_of_amount() {
  if constexpr (std::same_as<Value, Duration>) return "TIME";
  if constexpr (std::same_as<Value, ByteCount>) return "SIZE";
  if constexpr (std::same_as<Value, Bandwidth>) return "RATE";
  if constexpr (std::unsigned_integral<Value>) return "COUNT";
  return "TEXT";
}

/// An option whose text `parse` reads into `target`; text that it refuses is an error of the
/// command line.
template <class T, class Parse>
CLI::Option* add_parsed(CLI::App& command, const std::string& name, T& target, Parse parse,
                        const std::string& description, const std::string& shown_default = {}) {
  return add_text_option(
      command, name,
      [&target, parse](const std::string& text) {
        auto value = parse(text);
        if (!value) return value.error().message;
        target = *value;
        return std::string();
      },
      description, shown_default, type_of_amount<std::decay_t<decltype(*parse(name))>>());
}

/// Takes these options ("--sink") out of the command's help: it knows them, since files and
/// scenarios may name them, and has no use for them. `add_config_option` refuses them on the
/// command line.
void ignore_options(CLI::App& command, std::initializer_list<const char*> names);

/// The words that a list may have.
struct WordList {
  std::vector<std::string> known;  ///< only these; empty: any
  bool may_repeat = false;
};
/// An option whose value is a list of words with commas between them, as "dfs,grant". An empty
/// entry, and a word that is there twice, are errors of the command line.
CLI::Option* add_words(CLI::App& command, const std::string& name, std::vector<std::string>& target,
                       const WordList& list, const std::string& description);

/// Sees to it that options with a number refuse everything else, of this command and those below:
/// CLI11 reads -1 as the largest number of an unsigned type, and takes numbers beyond it for none.
/// No option takes an empty value: a shell's variable that is not set would go unnoticed. Call it
/// after adding the last option.
void check_values(CLI::App& command);

}  // namespace weft::cli
