// SPDX-License-Identifier: Apache-2.0
#include "cli/parsed_option.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <limits>
#include <utility>

#include "base/split.hpp"
#include "cli/describe.hpp"

namespace weft::cli {
namespace {

/// Appends a word of `value`; throws the error that it is.
void add_word(const std::string& option, const std::string& value, std::string word,
              const WordList& list, std::vector<std::string>& words) {
  const auto is_in = [&](const std::vector<std::string>& all) {
    return std::find(all.begin(), all.end(), word) != all.end();
  };
  if (word.empty()) {
    throw CLI::ValidationError(
        option, fmt::format("'{}' has an empty entry; write one comma between two of them", value));
  }
  if (!list.known.empty() && !is_in(list.known)) {
    // In CLI11's words, which explain_value knows.
    throw CLI::ValidationError(option,
                               fmt::format("{} not in {{{}}}", word, fmt::join(list.known, ",")));
  }
  if (!list.may_repeat && is_in(words)) {
    throw CLI::ValidationError(option, fmt::format("'{}' is there twice; leave one out", word));
  }
  words.push_back(std::move(word));
}

/// The largest number that the option's target can have. Trying that out changes the target, which
/// gets the option's value behind every check.
std::uint64_t largest_of(const CLI::Option& option) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  for (const std::uint64_t limit : {most, most >> 32, most >> 48}) {
    if (option.get_callback()({fmt::format("{}", limit)})) return limit;
  }
  return most >> 56;
}

std::string number_error(const CLI::Option& option, const std::string& text) {
  if (text.starts_with('-')) return fmt::format("'{}' is negative: give 0 or more", text);
  errno = 0;
  char* end = nullptr;
  const std::uint64_t number = std::strtoull(text.c_str(), &end, 0);
  if (text.empty() || *end != '\0') {
    return fmt::format("'{}' is no number; write one such as 4", text);
  }
  const std::uint64_t most = largest_of(option);
  if (errno != ERANGE && number <= most) return {};
  return fmt::format("'{}' is too large: give at most {}", text, most);
}

}  // namespace

CLI::Option* add_text_option(CLI::App& command, const std::string& name,
                             std::function<std::string(const std::string&)> read,
                             const std::string& description, const std::string& shown_default,
                             const char* type) {
  auto* option = command.add_option_function<std::string>(
      name,
      [name, read = std::move(read)](const std::string& text) {
        if (const std::string why = read(text); !why.empty()) throw CLI::ValidationError(name, why);
      },
      description);
  option->type_name(type);
  if (!shown_default.empty()) option->default_str(shown_default);
  return option;
}

void ignore_options(CLI::App& command, std::initializer_list<const char*> names) {
  for (const char* name : names) command.get_option(name)->group("");
}

CLI::Option* add_words(CLI::App& command, const std::string& name, std::vector<std::string>& target,
                       const WordList& list, const std::string& description) {
  const auto read = [name, list, &target](const std::vector<std::string>& values) {
    std::vector<std::string> words;
    for (const std::string& value : values) {
      for (const std::string_view word : split(value, ',')) {
        add_word(name, value, std::string(word), list, words);
      }
    }
    target = std::move(words);
  };
  auto* option = command.add_option_function<std::vector<std::string>>(name, read, description);
  option->type_name(list.known.empty()
                        ? words_type
                        : fmt::format("{}:{{{}}}", words_type, fmt::join(list.known, ",")));
  option->default_str(fmt::format("{}", fmt::join(target, ",")));
  return option;
}

void check_values(CLI::App& command) {
  for (CLI::Option* option : command.get_options()) {
    const std::string type = option->get_type_name();
    if (type == "UINT") {
      option->check([option](const std::string& text) { return number_error(*option, text); });
    } else if (type == "FLOAT") {
      option->check([](const std::string& text) {
        char* end = nullptr;
        std::strtod(text.c_str(), &end);
        return text.empty() || *end != '\0'
                   ? fmt::format("'{}' is no number; write one such as 0.5", text)
                   : "";
      });
    } else if (type == "FILE" || type == "DIR") {
      const char* const what = type == "FILE" ? "a file" : "a directory";
      option->check([what](const std::string& text) {
        return text.empty() ? fmt::format("'' names nothing; give the name of {}", what) : "";
      });
    } else if (!option->get_positional() && option->get_items_expected_max() > 0) {
      option->check([](const std::string& text) {
        return text.empty() ? "'' is empty; give a value, or leave the option out" : "";
      });
    }
  }
  for (CLI::App* below : command.get_subcommands([](CLI::App*) { return true; })) {
    check_values(*below);
  }
}

}  // namespace weft::cli
