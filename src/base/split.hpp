// SPDX-License-Identifier: Apache-2.0
// Lists of words: those in one text, and those that a program is started with.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// The parts of the text between separators: one more than there are separators, some maybe empty.
inline std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// Pointers to the words and a null one behind them, as exec and spawn take them: they do not write
/// to the words, which must outlive the pointers.
inline std::vector<char*> argument_pointers(std::span<const std::string> words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace weft
