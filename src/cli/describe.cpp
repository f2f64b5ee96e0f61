// SPDX-License-Identifier: Apache-2.0
#include "cli/describe.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

namespace weft::cli {
namespace {

// CLI11 writes a value as TYPE:CHECK:…, and a set of choices as {a,b}.
void read_type(std::string_view type, OptionDescription& option) {
  const std::size_t open = type.find('{');
  const std::size_t close = type.find('}', open);
  if (open != std::string_view::npos && close != std::string_view::npos) {
    std::string_view inside = type.substr(open + 1, close - open - 1);
    while (!inside.empty()) {
      const std::size_t comma = std::min(inside.find(','), inside.size());
      // A choice that stands for another value reads "name->value".
      const std::string_view choice = inside.substr(0, comma);
      option.choices.emplace_back(choice.substr(0, choice.find("->")));
      inside.remove_prefix(std::min(comma + 1, inside.size()));
    }
  }
  for (const std::string_view word : {"FILE", "PATH", "DIR"}) {
    option.takes_file = option.takes_file || type.find(word) != std::string_view::npos;
  }
  option.value = type.substr(0, std::min(type.find(':'), open));
}

OptionDescription describe_option(const CLI::Option& from) {
  OptionDescription option;
  option.text = from.get_description();
  option.group = from.get_group();
  option.default_value = from.get_default_str();
  option.required = from.get_required();
  option.positional = from.get_snames().empty() && from.get_lnames().empty();
  if (from.get_items_expected_max() > 0) read_type(from.get_type_name(), option);
  option.is_list = option.value == words_type;
  if (option.positional) {
    option.names.push_back(from.get_single_name());
    OptionDescription named;
    read_type(from.get_single_name(), named);
    option.takes_file = option.takes_file || named.takes_file;
    option.value.clear();
    return option;
  }
  for (const std::string& name : from.get_snames()) option.names.push_back("-" + name);
  for (const std::string& name : from.get_lnames()) option.names.push_back("--" + name);
  return option;
}

void describe_into(const CLI::App& app, CommandDescription& command) {
  for (const CLI::Option* o : app.get_options([](const CLI::Option*) { return true; })) {
    const bool is_groups_help = app.get_name().empty() && o == app.get_help_ptr();
    if (o->get_group().empty() || is_groups_help) continue;
    command.options.push_back(describe_option(*o));
    OptionDescription& option = command.options.back();
    if (app.get_name().empty() && option.group == "Options") option.group = app.get_group();
  }
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (sub->get_group().empty()) continue;
    if (sub->get_name().empty()) {  // an option group: its options are the command's
      describe_into(*sub, command);
      continue;
    }
    CommandDescription below;
    below.name = command.name + " " + sub->get_name();
    below.text = sub->get_description();
    if (sub->get_footer() != app.get_footer()) below.footer = sub->get_footer();  // not inherited
    describe_into(*sub, below);
    command.commands.push_back(std::move(below));
  }
}

void suggest(CommandDescription& command, const Suggestions& suggestions) {
  for (OptionDescription& option : command.options) {
    auto found = suggestions.find(command.name + " " + option.names.back());
    if (found == suggestions.end()) found = suggestions.find(option.names.back());
    // An option of that name may be another one, with choices or files of its own.
    const bool is_open = option.choices.empty() && !option.takes_file && !option.value.empty();
    if (found != suggestions.end() && is_open) option.suggestions = found->second;
  }
  for (CommandDescription& below : command.commands) suggest(below, suggestions);
}

}  // namespace

CommandDescription describe(const CLI::App& root, const Suggestions& suggestions) {
  CommandDescription command;
  command.name = root.get_name();
  command.text = root.get_description();
  command.footer = root.get_footer();
  describe_into(root, command);
  suggest(command, suggestions);
  return command;
}

void add_generate_command(CLI::App& root, std::string_view version, Suggestions suggestions) {
  CLI::App* const generate =
      root.add_subcommand("generate", "Print the manual page or a shell's completion script");
  generate->group("");
  generate->require_subcommand(1);
  const auto add = [&](const char* name, const char* text, auto make) {
    generate->add_subcommand(name, text)->group("Output")->callback([&root, make, suggestions] {
      fmt::print("{}", make(describe(root, suggestions)));
    });
  };
  add("man", "The manual page, for section 1",
      [text = std::string(version)](const CommandDescription& c) { return man_page(c, text); });
  add("bash", "Completion for bash", bash_completion);
  add("zsh", "Completion for zsh", zsh_completion);
  add("fish", "Completion for fish", fish_completion);
}

}  // namespace weft::cli
