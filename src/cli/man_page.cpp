// SPDX-License-Identifier: Apache-2.0
// The manual page: roff with the man macros.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "cli/commands.hpp"
#include "cli/describe.hpp"

namespace weft::cli {
namespace {

// Text that roff prints as it is: hyphens stay hyphens, no line is taken for a request.
std::string escaped(std::string_view text) {
  std::string out;
  bool line_start = true;
  for (const char c : text) {
    if (line_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    line_start = c == '\n';
  }
  return out;
}

// Paragraphs of running text: empty lines part them, indented lines stay as they are.
std::string paragraphs(std::string_view text) {
  std::string out;
  bool verbatim = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const bool indented = !line.empty() && line.front() == ' ';
    if (indented != verbatim && !line.empty()) {
      out += indented ? ".PP\n.nf\n" : ".fi\n";
      verbatim = indented;
    }
    if (line.empty()) {
      out += verbatim ? "\n" : ".PP\n";
    } else {
      out += fmt::format("{}\n", escaped(line));
    }
  }
  return verbatim ? out + ".fi\n" : out;
}

std::string upper(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return out;
}

std::string option_entry(const OptionDescription& option) {
  std::string out = ".TP\n";
  for (std::size_t i = 0; i < option.names.size(); ++i) {
    const char* const font = option.positional ? "\\fI" : "\\fB";
    out += fmt::format("{}{}{}\\fR", i > 0 ? ", " : "", font, escaped(option.names[i]));
  }
  if (!option.value.empty()) out += fmt::format(" \\fI{}\\fR", escaped(option.value));
  out += fmt::format("\n{}", escaped(option.text));
  if (option.required) out += " (required)";
  if (!option.choices.empty()) {
    out += escaped(fmt::format(" (one of {})", fmt::join(option.choices, ", ")));
  }
  if (!option.default_value.empty()) {
    out += escaped(fmt::format(" (default {})", option.default_value));
  }
  return out + "\n";
}

// Arguments first, then options under the headings of `--help`; --help itself is the same for every
// command and described once.
std::string option_list(const CommandDescription& command) {
  std::string out;
  for (const OptionDescription& o : command.options) {
    if (o.positional) out += option_entry(o);
  }
  std::string_view group = "Options";
  for (const OptionDescription& o : command.options) {
    if (o.positional || o.names.back() == "--help") continue;
    if (o.group != group) out += fmt::format(".PP\n{}:\n", escaped(o.group));
    group = o.group;
    out += option_entry(o);
  }
  return out;
}

std::string usage(const CommandDescription& command) {
  std::string out = fmt::format("\\fB{}\\fR", escaped(command.name));
  const bool has_options = std::any_of(command.options.begin(), command.options.end(),
                                       [](const auto& o) { return !o.positional; });
  if (has_options) out += " [\\fIOPTION\\fR ...]";
  for (const OptionDescription& o : command.options) {
    if (!o.positional) continue;
    const std::string name = fmt::format("\\fI{}\\fR", escaped(o.names.front()));
    out += o.required ? " " + name : fmt::format(" [{}]", name);
  }
  if (!command.commands.empty()) out += " \\fICOMMAND\\fR ...";
  return out;
}

void add_commands(const CommandDescription& command, std::string& out) {
  for (const CommandDescription& below : command.commands) {
    out += fmt::format(".SS {}\n{}\n.PP\n{}", escaped(below.name), usage(below),
                       paragraphs(below.text));
    out += option_list(below);
    if (!below.footer.empty()) out += ".PP\n" + paragraphs(below.footer);
    add_commands(below, out);
  }
}

}  // namespace

std::string man_page(const CommandDescription& root, std::string_view version) {
  std::string out = fmt::format(".TH {} 1 \"\" \"{} {}\" \"User Commands\"\n", upper(root.name),
                                escaped(root.name), escaped(version));
  std::string_view summary = std::string_view(root.text).substr(0, root.text.find('\n'));
  if (summary.starts_with(root.name + " ")) summary.remove_prefix(root.name.size() + 1);
  out += fmt::format(".SH NAME\n{} \\- {}\n", escaped(root.name), escaped(summary));
  out += fmt::format(".SH SYNOPSIS\n{}\n", usage(root));
  out += ".SH DESCRIPTION\n" + paragraphs(root.text);
  if (!root.options.empty()) out += ".SH OPTIONS\n";
  for (const OptionDescription& o : root.options) out += option_entry(o);
  if (!root.commands.empty()) out += ".SH COMMANDS\n";
  add_commands(root, out);
  if (!root.footer.empty()) out += ".SH EXAMPLES\n" + paragraphs(root.footer);
  out += ".SH EXIT STATUS\n";
  const auto status = [&](ExitCode code, std::string_view meaning) {
    out += fmt::format(".TP\n{}\n{}\n", static_cast<int>(code), meaning);
  };
  status(ExitCode::success, "Success.");
  status(ExitCode::failed,
         "The work was done and something was found wrong, such as a damaged file.");
  status(ExitCode::usage,
         "An option or a configuration is wrong, or an input file is missing or of another kind.");
  status(ExitCode::system, "The operating system refused: disk full, no permission, no address.");
  status(ExitCode::hung_up, "Ended early by SIGHUP, as by a terminal that is closed.");
  status(ExitCode::interrupted, "Ended early by SIGINT, as by Ctrl-C.");
  status(ExitCode::terminated, "Ended early by SIGTERM.");
  return out;
}

}  // namespace weft::cli
