// SPDX-License-Identifier: Apache-2.0
#include "cli/suggest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <regex>

#include "base/nearest.hpp"
#include "base/split.hpp"

namespace weft::cli {
namespace {

void add_options(const CLI::App& app, std::vector<std::string>& names) {
  for (const CLI::Option* option : app.get_options([](const CLI::Option*) { return true; })) {
    if (option->get_group().empty()) continue;
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (sub->get_name().empty()) add_options(*sub, names);  // an option group
  }
}

std::string unknown(const CLI::App& command, const std::string& word, const char* what,
                    const std::string& fix) {
  const char* then = fix.ends_with('?') ? " See" : "; see";
  return fmt::format("unknown {} '{}' of {}{}{} {} --help", what, word, full_name(command), fix,
                     then, full_name(command));
}

/// Options of mpirun and srun, and what `weft run` has in their place.
struct ForeignOptions {
  std::vector<std::string_view> words;
  const char* fix;
};

const char* fix_of_foreign(std::string_view word) {
  static const std::array all{
      ForeignOptions{{"-np", "--np", "--n", "-N", "-p", "-c", "--ntasks", "--nprocs", "--ranks"},
                     ": write -n N for N processes"},
      ForeignOptions{{"-host", "--host", "-H", "-f", "-hostfile", "--hostfile", "-machinefile",
                      "--machinefile"},
                     ": write --hosts FILE, a file with a line for each host"},
      ForeignOptions{{"--oversubscribe", "--allow-run-as-root"},
                     ": leave it out, weft run needs no such permission"}};
  for (const ForeignOptions& options : all) {
    if (std::ranges::find(options.words, word) != options.words.end()) return options.fix;
  }
  return nullptr;
}

/// The only option that begins with the letter of `word`, such as --version for -V.
std::string only_option_of_letter(const std::string& word, std::span<const std::string> options) {
  if (word.size() != 2) return {};
  const std::string begin = {'-', '-', static_cast<char>(std::tolower(word[1]))};
  std::string found;
  for (const std::string& name : options) {
    if (!name.starts_with(begin)) continue;
    if (!found.empty()) return {};
    found = name;
  }
  return found;
}

}  // namespace

std::string explain_value(const std::string& text) {
  std::smatch found;
  static const std::regex unreadable("Could not convert: (\\S+) = (.*)");
  static const std::regex repeated("(\\S+): At Most 1 required but received (\\d+)");
  static const std::regex missing("(\\S+): \\d+ required (\\S+) missing");
  static const std::regex not_listed("(\\S+): (.*) not in \\{(.*)\\}");
  static const std::regex beyond("(\\S+): Value (.*) not in range (.*) to (.*)");
  if (std::regex_match(text, found, unreadable)) {
    return fmt::format("{}: '{}' is no number; write one such as 4", found.str(1), found.str(2));
  }
  if (std::regex_match(text, found, repeated)) {
    return fmt::format("{}: is given {} times; give it once", found.str(1), found.str(2));
  }
  if (std::regex_match(text, found, missing)) {
    return fmt::format("{}: has no value; write {} {}", found.str(1), found.str(1), found.str(2));
  }
  if (std::regex_match(text, found, beyond)) {
    return fmt::format("{}: '{}' is no number from {} to {}; write one of those", found.str(1),
                       found.str(2), found.str(3), found.str(4));
  }
  if (!std::regex_match(text, found, not_listed)) return text;
  const std::string list = found.str(3);
  const auto parts = split(list, ',');
  const std::vector<std::string> known(parts.begin(), parts.end());
  const std::string guess = nearest(found.str(2), known);
  return fmt::format("{}: '{}' is none of {}{}", found.str(1), found.str(2), fmt::join(known, ", "),
                     guess.empty() ? "" : fmt::format("; did you mean {}?", guess));
}

std::string full_name(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  return parent == nullptr ? app.get_name() : full_name(*parent) + " " + app.get_name();
}

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!sub->get_name().empty() && !sub->get_group().empty()) names.push_back(sub->get_name());
  }
  return names;
}

const CLI::App& deepest_command(const CLI::App& app) {
  for (const CLI::App* sub : app.get_subcommands()) {
    if (!sub->get_name().empty()) return deepest_command(*sub);
  }
  return app;
}

std::string explain_option(const CLI::App& command, const std::string& word) {
  const bool launches = full_name(command) == "weft run";
  const CLI::Option* program = command.get_option_no_throw("COMMAND");
  const bool has_program = program != nullptr && program->count() > 0;
  if (const char* fix = fix_of_foreign(word); launches && fix != nullptr) {
    const char* other = has_program ? ", or -- before the program if it is the program's" : "";
    return unknown(command, word, "option", std::string(fix) + other);
  }
  std::vector<std::string> options;
  add_options(command, options);
  std::string guess = nearest(word, options);
  if (guess == word) {
    return fmt::format("{} has to stand behind {}, and in front of any --; see {} --help", word,
                       full_name(command), full_name(command));
  }
  if (guess.empty()) guess = only_option_of_letter(word, options);
  if (guess.empty()) {
    // The option may be one of a command below, which was misspelled and taken for a file.
    const std::vector<std::string> commands = commands_of(command);
    for (const CLI::Option* option : command.get_options()) {
      if (!option->get_positional() || option->count() == 0) continue;
      const std::string value = option->results().front();
      if (!nearest(value, commands).empty()) return explain_command(command, value);
    }
  }
  if (guess.empty() && has_program) {
    return unknown(command, word, "option", ": write -- before the program if it is the program's");
  }
  return unknown(command, word, "option", did_you_mean(guess));
}

std::string explain_command(const CLI::App& command, const std::string& word) {
  std::string guess = nearest(word, commands_of(command));
  static const std::array launchers{"mpirun", "mpiexec", "srun", "exec", "launch", "start"};
  if (std::ranges::find(launchers, word) != launchers.end() && command.get_parent() == nullptr) {
    guess = "run";
  }
  if (guess.empty()) {
    std::vector<std::string> options;
    add_options(command, options);
    if (std::ranges::find(options, "--" + word) != options.end()) guess = "--" + word;
  }
  return unknown(command, word, "command", did_you_mean(guess));
}

std::vector<std::string> unread_words(const CLI::App& root) {
  const std::vector<std::string> above = root.remaining();
  std::vector<std::string> words;
  for (const CLI::App* sub : root.get_subcommands()) {
    const auto below = unread_words(*sub);
    words.insert(words.end(), below.begin(), below.end());
  }
  words.insert(words.end(), above.begin(), above.end());
  return words;
}

std::string explain_unknown(const CLI::App& root) {
  const std::vector<std::string> words = unread_words(root);
  const CLI::App& command = deepest_command(root);
  if (words.empty()) return fmt::format("see {} --help", full_name(command));
  const std::vector<std::string> commands = commands_of(command);
  // A word too many is often the value of an option that there is not.
  auto first = words.begin();
  const auto is_option = [](const std::string& w) { return w.starts_with("-"); };
  if (commands.empty()) {
    first = std::find_if(first, words.end(), is_option);
    if (first == words.end()) first = words.begin();
  } else {
    // The options behind a misspelled command are those of the command that was meant.
    const auto misspelled = std::ranges::find_if(
        words, [&](const auto& w) { return !is_option(w) && !nearest(w, commands).empty(); });
    if (misspelled != words.end()) first = misspelled;
  }
  const std::string word = first->substr(0, first->find('='));
  if (word == "--") {
    return fmt::format("nothing follows '--' of {0}: write a program there; see {0} --help",
                       full_name(command));
  }
  if (word.starts_with("-")) return explain_option(command, word);
  if (!commands.empty()) return explain_command(command, word);
  if (command.get_option_no_throw("--scenario") != nullptr) {
    return fmt::format("'{}' is one word too many for {}: write --scenario {}", word,
                       full_name(command), word);
  }
  return fmt::format("'{}' is one word too many for {}; see {} --help", word, full_name(command),
                     full_name(command));
}

const CLI::App* find_command(const CLI::App& root, std::span<const std::string> words,
                             std::string& error) {
  const CLI::App* command = &root;
  for (const std::string& word : words) {
    const auto commands = commands_of(*command);
    if (std::find(commands.begin(), commands.end(), word) == commands.end()) {
      error = explain_command(*command, word);
      return nullptr;
    }
    command = command->get_subcommand(word);
  }
  return command;
}

}  // namespace weft::cli
