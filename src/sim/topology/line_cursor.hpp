// SPDX-License-Identifier: Apache-2.0
// Reading one line of a subnet's dump from left to right.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weft::sim {

/// Cuts the first line off.
inline std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  return line;
}

/// A position in one line; each take_* moves on when it succeeds.
class LineCursor {
 public:
  explicit LineCursor(std::string_view line) : rest_(line) {}
  void skip_space() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r"), rest_.size()));
  }
  bool at_end() const { return rest_.empty(); }
  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::string_view take_word() {
    const auto word = rest_.substr(0, rest_.find_first_of(" \t\r"));
    rest_.remove_prefix(word.size());
    return word;
  }
  /// Without a sign; at most 65,535.
  std::optional<std::uint16_t> take_number(int base = 10) {
    std::uint16_t value = 0;
    const auto [end, error] =
        std::from_chars(rest_.data(), rest_.data() + rest_.size(), value, base);
    if (error != std::errc{}) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }
  /// [7]
  std::optional<std::uint16_t> take_port() {
    if (!take('[')) return std::nullopt;
    const auto number = take_number();
    if (!number || !take(']')) return std::nullopt;
    return number;
  }
  /// The text between two quotation marks.
  std::optional<std::string_view> take_quoted() {
    if (!take('"')) return std::nullopt;
    const std::size_t end = rest_.find('"');
    if (end == std::string_view::npos) return std::nullopt;
    const auto text = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return text;
  }
  /// The text before `end`, which is taken as well.
  std::optional<std::string_view> take_until(std::string_view end) {
    const std::size_t at = rest_.find(end);
    if (at == std::string_view::npos) return std::nullopt;
    const auto text = rest_.substr(0, at);
    rest_.remove_prefix(at + end.size());
    return text;
  }
  void skip_to(char c) { rest_.remove_prefix(std::min(rest_.find(c), rest_.size())); }

 private:
  std::string_view rest_;
};

}  // namespace weft::sim
