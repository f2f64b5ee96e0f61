// SPDX-License-Identifier: Apache-2.0
// Options whose text is read by a parser that yields a Result, as those of base/units.hpp.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace weft::cli {

/// An option that hands its text to `read`, which yields an error text, or nothing.
CLI::Option* add_text_option(CLI::App& command, const std::string& name,
                             std::function<std::string(const std::string&)> read,
                             const std::string& description, const std::string& shown_default);

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
      description, shown_default);
}

/// Takes these options ("--sink") out of the command's help: it knows them, since files and
/// scenarios may name them, and has no use for them. `add_config_option` refuses them on the
/// command line.
void ignore_options(CLI::App& command, std::initializer_list<const char*> names);

/// CLI11 reads -1 as the largest number of an unsigned type, and 2^64 as well: after this, its
/// options do not.
void refuse_negative_numbers(CLI::App& command);

}  // namespace weft::cli
