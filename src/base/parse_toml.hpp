// SPDX-License-Identifier: Apache-2.0
// toml::parse for files of users: a key of very many parts is an error, not a full stack.
#pragma once

#include <toml++/toml.h>
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

namespace weft {

inline constexpr std::size_t most_key_parts = 64;

namespace detail {

/// The length of the text between quotes, with them, or of the comment that `text` begins with; 0:
/// of neither.
inline std::size_t quoted_or_comment(std::string_view text) {
  const auto within = [&](std::size_t n) { return std::min(n, text.size()); };
  const char quote = text.front();
  if (quote == '#') return within(text.find('\n'));
  if (quote != '"' && quote != '\'') return 0;
  const std::string triple(3, quote);
  const bool is_long = text.starts_with(triple);
  const std::string_view end = is_long ? std::string_view(triple) : text.substr(0, 1);
  std::size_t at = end.size();
  while (at < text.size() && !text.substr(at).starts_with(end)) {
    if (!is_long && text[at] == '\n') return at;  // the parser will say that the quote is missing
    at += quote == '"' && text[at] == '\\' ? 2 : 1;
  }
  return within(at + end.size());
}

}  // namespace detail

/// Throws toml::parse_error, whose source has `path`. Also for a key or a table's name of more than
/// `most_key_parts` parts: each is a table within the one before, and the parser and the tables'
/// destructors take a piece of the stack for each.
inline toml::table parse_toml(std::string_view text, std::string_view path) {
  std::size_t dots = 0;
  toml::source_index line = 1;
  for (std::size_t at = 0; at < text.size();) {
    if (const std::size_t skipped = detail::quoted_or_comment(text.substr(at)); skipped > 0) {
      line += static_cast<toml::source_index>(std::ranges::count(text.substr(at, skipped), '\n'));
      at += skipped;
      continue;
    }
    const char c = text[at++];
    line += c == '\n';
    if (c == '.') {
      ++dots;
    } else if (std::string_view("=,[]{}\n").find(c) != std::string_view::npos) {
      dots = 0;
    }
    if (dots < most_key_parts) continue;
    throw toml::parse_error("a key has more than 64 parts", toml::source_position{line, 1},
                            std::make_shared<const std::string>(path));
  }
  return toml::parse(text, path);
}

}  // namespace weft
