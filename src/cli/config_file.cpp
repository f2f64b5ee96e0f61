// SPDX-License-Identifier: Apache-2.0
#include "cli/config_file.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/exit_code.hpp"
#include "base/nearest.hpp"
#include "base/parse_toml.hpp"
#include "base/system_error.hpp"
#include "cli/suggest.hpp"

namespace weft::cli {
namespace {

constexpr const char* option_name = "--config";
constexpr std::size_t largest_config = 1 << 20;

/// Throws an error that names file and line and says what is wrong there.
[[noreturn]] void refuse(const std::string& path, const toml::source_region& where,
                         std::string_view what) {
  throw CLI::ConfigError(fmt::format("{}:{}: {}", path, where.begin.line, what));
}

/// A value as the command line would have it; none when no option takes such.
std::optional<std::string> as_text(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* yes = node.as_boolean()) return yes->get() ? "true" : "false";
  return std::nullopt;
}

std::vector<std::string> values_of(const std::string& path, const std::string& name,
                                   const toml::node& node) {
  std::vector<std::string> values;
  const auto take = [&](const toml::node& value) {
    const auto text = as_text(value);
    if (!text) {
      refuse(path, value.source(),
             fmt::format("{} is neither text, a number, true, false nor a list of such", name));
    }
    values.push_back(*text);
  };
  if (const auto* list = node.as_array()) {
    for (const toml::node& value : *list) take(value);
  } else {
    take(node);
  }
  return values;
}

/// A file that is named in a file ("FILE:LINE") is looked for from there.
std::string anchored(const std::filesystem::path& where, const std::string& name) {
  return (where.parent_path() / name).string();  // an absolute name replaces all before it
}

void apply(CLI::App& command, const std::string& path, const std::string& name,
           const toml::node& node) {
  apply_setting(command, fmt::format("{}:{}", path, node.source().begin.line), name,
                values_of(path, name, node));
}

void read_config_file(CLI::App& command, const std::string& path) {
  const auto text = read_text_file(path, largest_config);
  if (!text) {
    throw CLI::FileError(fmt::format("{}: {}", option_name, text.error().message),
                         static_cast<int>(exit_code_of(text.error().code)));
  }
  toml::table table;
  try {
    table = parse_toml(*text, path);
  } catch (const toml::parse_error& error) {
    std::string what(error.description());
    std::replace(what.begin(), what.end(), '\n', ' ');
    refuse(path, error.source(), what + "; correct that line");
  }
  if (table.empty()) {
    throw CLI::ConfigError(
        fmt::format("{} {}: there is no setting in it; write some, one a line: "
                    "OPTION = VALUE, or leave the option out",
                    option_name, path));
  }
  for (const auto& [key, node] : table) apply(command, path, std::string(key.str()), node);
}

/// Refuses options that the command ignores: those that `ignore_options` has hidden.
void refuse_ignored(const CLI::App& command) {
  std::vector<std::string> useful;
  for (const CLI::Option* option : command.get_options([](const CLI::Option*) { return true; })) {
    if (option->get_group().empty()) continue;
    for (const std::string& name : option->get_lnames()) useful.push_back("--" + name);
  }
  for (const CLI::Option* option : command.get_options([](const CLI::Option*) { return true; })) {
    if (!option->get_group().empty() || option->empty()) continue;
    // Hidden options have no name for messages.
    const std::string name = "--" + option->get_lnames().front();
    std::string guess = nearest(name, useful);
    if (!guess.starts_with(name)) guess.clear();  // it was written right
    throw CLI::ValidationError(
        name, fmt::format("{} has no use for it; {}", full_name(command),
                          guess.empty() ? "leave it out" : fmt::format("did you mean {}?", guess)));
  }
}

}  // namespace

void apply_setting(CLI::App& command, const std::string& where, const std::string& name,
                   std::vector<std::string> values) {
  CLI::Option* option = command.get_option_no_throw("--" + name);
  if (option == nullptr || !option->get_configurable() || "--" + name == option_name) {
    throw CLI::ConfigError(fmt::format("{}: {}", where, explain_option(command, "--" + name)));
  }
  if (!option->empty() || values.empty()) return;  // the command line goes first
  if (option->get_type_name() == "FILE") {
    for (std::string& value : values) value = anchored(where, value);
  }
  try {
    if (option->get_expected_min() == 0) {
      option->add_result(option->get_flag_value(name, values.front()));
    } else {
      option->add_result(values);
    }
    option->run_callback();
  } catch (const CLI::ParseError& error) {
    throw CLI::ConfigError(fmt::format("{}: {}", where, explain_value(error.what())));
  }
}

void add_config_option(CLI::App& command, std::function<void()> before_file) {
  auto* option = command.add_option(option_name, "TOML file with the same names as these options")
                     ->type_name("FILE");
  // Not CLI::App::set_config: that reads files for the outermost command only.
  command.parse_complete_callback([&command, option, before_file = std::move(before_file)] {
    refuse_ignored(command);
    if (before_file) before_file();
    if (!option->empty()) read_config_file(command, option->results().front());
  });
}

}  // namespace weft::cli
