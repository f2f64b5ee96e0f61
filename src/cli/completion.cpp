// SPDX-License-Identifier: Apache-2.0
// Completion scripts. Each walks the words typed so far to find the command they name (its path,
// "weft stream local"), then offers that command's options, values and subcommands.
#include <fmt/format.h>

#include <functional>

#include "cli/describe.hpp"

namespace weft::cli {
namespace {

using Visit = std::function<void(const CommandDescription&)>;

void for_each_command(const CommandDescription& command, const Visit& visit) {
  visit(command);
  for (const CommandDescription& below : command.commands) for_each_command(below, visit);
}

std::string last_word(const CommandDescription& command) {
  return command.name.substr(command.name.rfind(' ') + 1);
}

std::string_view first_line(std::string_view text) {
  return text.substr(0, text.find('\n'));
}

std::string replaced(std::string_view text, char from, std::string_view to) {
  std::string out;
  for (const char c : text) {
    if (c == from) {
      out += to;
    } else {
      out += c;
    }
  }
  return out;
}

// In single quotes for bash and zsh.
std::string in_quotes(std::string_view text) {
  return fmt::format("'{}'", replaced(text, '\'', "'\\''"));
}

std::string fish_quoted(std::string_view text) {
  return fmt::format("'{}'", replaced(replaced(text, '\\', "\\\\"), '\'', "\\'"));
}

std::string quoted_list(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words)
    out += fmt::format("{}{}", out.empty() ? "" : " ", in_quotes(word));
  return out;
}

// Patterns "PATH" of every command below the root, parted by |.
std::string all_paths(const CommandDescription& root) {
  std::string out;
  for_each_command(root, [&](const CommandDescription& c) {
    if (&c != &root) out += fmt::format("{}{}", out.empty() ? "" : "|", in_quotes(c.name));
  });
  return out;
}

// Patterns "PATH OPTION" of one option's names.
std::string option_patterns(const CommandDescription& command, const OptionDescription& option) {
  std::string out;
  for (const std::string& name : option.names) {
    out += fmt::format("{}{}", out.empty() ? "" : "|", in_quotes(command.name + " " + name));
  }
  return out;
}

const std::vector<std::string>& offered_values(const OptionDescription& option) {
  return option.choices.empty() ? option.suggestions : option.choices;
}

// Returns the suggestions that a file name completes, such as "pcap:", without their colon.
std::string file_schemes(const OptionDescription& option) {
  std::string out;
  for (const std::string& word : option.suggestions) {
    if (!word.ends_with(':')) continue;
    out += fmt::format("{}{}", out.empty() ? "" : "|", word.substr(0, word.size() - 1));
  }
  return out;
}

/// `help` takes the names of commands: as if each of them were one of its own.
void add_topics(std::vector<CommandDescription>& to, const std::string& below,
                const std::vector<CommandDescription>& commands) {
  for (const CommandDescription& command : commands) {
    if (last_word(command) == "help") continue;
    CommandDescription topic;
    topic.name = below + " " + last_word(command);
    topic.text = command.text;
    add_topics(topic.commands, topic.name, command.commands);
    to.push_back(std::move(topic));
  }
}

CommandDescription with_topics(CommandDescription root) {
  for (CommandDescription& command : root.commands) {
    if (last_word(command) == "help") add_topics(command.commands, command.name, root.commands);
  }
  return root;
}

}  // namespace

std::string bash_completion(const CommandDescription& described) {
  const CommandDescription root = with_topics(described);
  std::string values;
  std::string words;
  for_each_command(root, [&](const CommandDescription& c) {
    std::vector<std::string> offered;
    for (const CommandDescription& below : c.commands) offered.push_back(last_word(below));
    for (const OptionDescription& o : c.options) {
      if (o.positional) continue;
      offered.insert(offered.end(), o.names.begin(), o.names.end());
      if (o.value.empty()) continue;
      // Nothing to offer leaves it to the shell, which completes file names.
      values += fmt::format("    {}) words={}{} ;;\n", option_patterns(c, o),
                            in_quotes(fmt::format("{}", fmt::join(offered_values(o), " "))),
                            o.is_list ? " list=yes" : "");
    }
    words += fmt::format("      {}) words={} ;;\n", in_quotes(c.name),
                         in_quotes(fmt::format("{}", fmt::join(offered, " "))));
  });
  const std::string paths = root.commands.empty() ? in_quotes("") : all_paths(root);
  return fmt::format(R"(# Completion of {0} for bash. Made by: {0} generate bash
_{0}() {{
  local path={0} words=- list= i cur prev
  # Readline takes words apart at : and =, which values contain.
  local line=${{COMP_LINE:0:COMP_POINT}}
  local -a typed
  read -ra typed <<< "$line"
  [[ $line == *[[:space:]] ]] && typed+=('')
  cur=${{typed[-1]}} prev=${{typed[-2]}}
  if [[ $cur == --*=* ]]; then
    prev=${{cur%%=*}} cur=${{cur#*=}}
  fi
  for ((i = 1; i < ${{#typed[@]}} - 1; i++)); do
    case "$path ${{typed[i]}}" in
      {1}) path="$path ${{typed[i]}}" ;;
    esac
  done
  case "$path $prev" in
{2}  esac
  if [[ $words == - ]]; then
    case "$path" in
{3}    esac
  fi
  if [[ $list && $cur == *,* ]]; then
    local before=${{cur%,*}}, rest=
    for i in $words; do [[ ,$before == *",$i,"* ]] || rest+=" $before$i"; done
    words=$rest
  fi
  if [[ $cur == *:* && " $words " == *" ${{cur%%:*}}: "* ]]; then
    compopt -o filenames 2> /dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "${{cur#*:}}")
    return
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
  [[ ${{#COMPREPLY[@]}} -eq 1 && ${{COMPREPLY[0]}} == *: ]] && compopt -o nospace 2> /dev/null
  # What stands before a colon stays.
  if [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]]; then
    for i in "${{!COMPREPLY[@]}}"; do COMPREPLY[i]=${{COMPREPLY[i]#"${{cur%:*}}:"}}; done
  fi
}}
complete -o default -F _{0} {0}
)",
                     root.name, paths, values, words);
}

std::string zsh_completion(const CommandDescription& of) {
  const CommandDescription root = with_topics(of);
  const auto described = [](std::string_view word, std::string_view text) {
    return in_quotes(fmt::format("{}:{}", replaced(word, ':', "\\:"), first_line(text)));
  };
  std::string values;
  std::string words;
  for_each_command(root, [&](const CommandDescription& c) {
    std::string commands;
    std::string options;
    for (const CommandDescription& below : c.commands) {
      commands += described(last_word(below), below.text) + " ";
    }
    for (const OptionDescription& o : c.options) {
      if (o.positional) continue;
      for (const std::string& name : o.names) options += described(name, o.text) + " ";
      if (o.value.empty()) continue;
      std::string action = fmt::format("_message {}", in_quotes(o.value));
      if (!o.choices.empty()) action = fmt::format("compadd -- {}", quoted_list(o.choices));
      if (!o.suggestions.empty()) {
        action = fmt::format("compadd -S '' -- {}", quoted_list(o.suggestions));
        if (const std::string schemes = file_schemes(o); !schemes.empty()) {
          action = fmt::format("if compset -P {}; then _files; else {}; fi",
                               in_quotes(fmt::format("({}):", schemes)), action);
        }
      }
      if (o.is_list && !offered_values(o).empty()) {
        action = fmt::format("_sequence compadd - {}", quoted_list(offered_values(o)));
      }
      if (o.takes_file) action = "_files";
      values += fmt::format("    ({}) {}; return ;;\n", option_patterns(c, o), action);
    }
    words += fmt::format("    ({}) commands=({}); options=({}) ;;\n", in_quotes(c.name), commands,
                         options);
  });
  const std::string paths = root.commands.empty() ? in_quotes("") : all_paths(root);
  return fmt::format(R"(#compdef {0}
# Completion of {0} for zsh. Made by: {0} generate zsh
_{0}() {{
  local at={0}
  local -i i
  local -a commands options
  for ((i = 2; i < CURRENT; i++)); do
    case "$at ${{words[i]}}" in
      ({1}) at="$at ${{words[i]}}" ;;
    esac
  done
  case "$at ${{words[CURRENT - 1]}}" in
{2}  esac
  case "$at" in
{3}  esac
  (( $#commands )) && _describe command commands
  if [[ $PREFIX == -* ]]; then
    _describe -o option options
  elif (( ! $#commands )); then
    _files
  fi
}}
if [[ $funcstack[1] == _{0} ]]; then
  _{0} "$@"
else
  compdef _{0} {0}
fi
)",
                     root.name, paths, values, words);
}

std::string fish_completion(const CommandDescription& described) {
  const CommandDescription root = with_topics(described);
  std::string out =
      fmt::format(R"(# Completion of {0} for fish. Made by: {0} generate fish
function __{0}_at
    set -l at {0}
    for word in (commandline -opc)[2..-1]
        switch "$at $word"
            case {1}
                set at "$at $word"
        end
    end
    test "$at" = "$argv[1]"
end
# The words that a value may begin with; behind those that end with a colon, files.
function __{0}_values
    set -l cur (commandline -ct | string replace -r '^--[^=]*=' '')
    for word in $argv
        echo $word
        if string match -q -- '*:' $word; and string match -q -- "$word*" $cur
            set -l rest (string sub -s (math (string length -- $word) + 1) -- $cur)
            for file in (complete -C "__{0}_no_such_command $rest")
                echo $word$file
            end
        end
    end
end
# The values that a list with commas does not have yet.
function __{0}_list
    set -l before (commandline -ct | string replace -r '^--[^=]*=' '' | string match -r '^.*,')
    for word in $argv
        contains -- $word (string split , -- "$before"); or echo "$before$word"
    end
end
)",
                  root.name, root.commands.empty() ? "''" : replaced(all_paths(root), '|', " "));
  for_each_command(root, [&](const CommandDescription& c) {
    const std::string start =
        fmt::format("complete -c {} -n \"__{}_at {}\"", root.name, root.name, fish_quoted(c.name));
    for (const CommandDescription& below : c.commands) {
      out += fmt::format("{} -f -a {} -d {}\n", start, last_word(below),
                         fish_quoted(first_line(below.text)));
    }
    for (const OptionDescription& o : c.options) {
      if (o.positional) continue;
      out += start;
      for (const std::string& name : o.names) {
        const bool is_long = name.starts_with("--");
        out += fmt::format(" -{} {}", is_long ? 'l' : 's', name.substr(is_long ? 2 : 1));
      }
      if (!o.value.empty()) out += o.takes_file ? " -r" : " -x";
      const std::string offered = fmt::format("{}", fmt::join(offered_values(o), " "));
      if (!offered.empty() && (o.is_list || o.choices.empty())) {
        out += fmt::format(" -a '(__{}_{} {})'", root.name, o.is_list ? "list" : "values", offered);
      } else if (!offered.empty()) {
        out += fmt::format(" -a {}", fish_quoted(offered));
      }
      out += fmt::format(" -d {}\n", fish_quoted(first_line(o.text)));
    }
  });
  return out;
}

}  // namespace weft::cli
