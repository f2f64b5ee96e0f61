// SPDX-License-Identifier: Apache-2.0
#include "cli/parsed_option.hpp"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>

namespace weft::cli {

CLI::Option* add_text_option(CLI::App& command, const std::string& name,
                             std::function<std::string(const std::string&)> read,
                             const std::string& description, const std::string& shown_default) {
  auto* option = command.add_option_function<std::string>(
      name,
      [name, read = std::move(read)](const std::string& text) {
        if (const std::string why = read(text); !why.empty()) throw CLI::ValidationError(name, why);
      },
      description);
  if (!shown_default.empty()) option->default_str(shown_default);
  return option;
}

void ignore_options(CLI::App& command, std::initializer_list<const char*> names) {
  for (const char* name : names) command.get_option(name)->group("");
}

void refuse_negative_numbers(CLI::App& command) {
  for (CLI::Option* option : command.get_options()) {
    if (option->get_type_name() != "UINT") continue;
    option->check([](const std::string& text) {
      if (text.starts_with('-')) return "'" + text + "' is negative: give 0 or more";
      errno = 0;
      std::strtoull(text.c_str(), nullptr, 0);
      if (errno == ERANGE) return "'" + text + "' is too large: give at most 18446744073709551615";
      return std::string();
    });
  }
}

}  // namespace weft::cli
