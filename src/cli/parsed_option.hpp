// SPDX-License-Identifier: Apache-2.0
// Options whose text is read by a parser that yields a Result, as those of base/units.hpp.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace weft::cli {

/// An option whose text `parse` reads into `target`; what the parser refuses is the command line's
/// error.
template <class T, class Parse>
CLI::Option* add_parsed(CLI::App& command, const std::string& name, T& target, Parse parse,
                        const std::string& description, const std::string& shown_default = {}) {
  auto* option = command.add_option_function<std::string>(
      name,
      [&target, parse, name](const std::string& text) {
        auto value = parse(text);
        if (!value) throw CLI::ValidationError(name, value.error().message);
        target = *value;
      },
      description);
  if (!shown_default.empty()) option->default_str(shown_default);
  return option;
}

/// CLI11 reads -1 as the largest number of an unsigned type.
inline void refuse_negative_numbers(CLI::App& command) {
  for (CLI::Option* option : command.get_options()) {
    if (option->get_type_name() != "UINT") continue;
    option->check([](const std::string& text) {
      return text.starts_with('-') ? "'" + text + "' is negative: give 0 or more" : std::string();
    });
  }
}

}  // namespace weft::cli
