// SPDX-License-Identifier: Apache-2.0
// scheme:path?key=value&key: how sources and sinks are named on the command line. Every error
// quotes the URI and names the part of it that is wrong.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/ids.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft {

/// A parsed URI; owns its text. The path is everything between the first ':' and the first '?';
/// "%3F" in it stands for a '?'. A key without '=' is a flag.
class Uri {
 public:
  /// Errors: there is no scheme, or a key without a name or given twice.
  static Result<Uri> parse(std::string_view text);

  const std::string& text() const { return text_; }
  const std::string& scheme() const { return scheme_; }
  const std::string& path() const { return path_; }

  bool has(std::string_view key) const { return find(key) != nullptr; }
  /// Returns the value as written, or `fallback` when the key is absent.
  std::string get(std::string_view key, std::string_view fallback = {}) const;

  /// Refuses every key that is not in `known`, and lists those.
  Result<void> allow(std::initializer_list<std::string_view> known) const;
  /// Refuses an empty path; `what` says what belongs there, as in "the file to read".
  Result<void> need_path(std::string_view what) const;

  /// Each returns `fallback` when the key is absent, and refuses values out of [least, most].
  Result<std::uint64_t> number(std::string_view key, std::uint64_t fallback, std::uint64_t least,
                               std::uint64_t most) const;
  Result<ByteCount> bytes(std::string_view key, ByteCount fallback, ByteCount least,
                          ByteCount most) const;
  Result<Duration> duration(std::string_view key, Duration fallback) const;  ///< more than 0
  /// "key", "key=yes" and "key=1" are true; "key=no", "key=0" and its absence are false.
  Result<bool> flag(std::string_view key) const;

  /// Returns an error about this URI: "'scheme:…': WHY".
  Error error(std::string_view why, ErrorCode code = ErrorCode::invalid_argument) const;
  /// Returns an error about one key's value: "'scheme:…': key=value: WHY".
  Error key_error(std::string_view key, std::string_view why) const;

 private:
  struct Pair {
    std::string key;
    std::string value;
    bool has_value = false;
  };
  const Pair* find(std::string_view key) const;
  Result<void> add_pair(std::string_view pair);

  std::string text_;
  std::string scheme_;
  std::string path_;
  std::vector<Pair> pairs_;
};

/// Replaces each "%x" in `text` by the value given for letter x, and "%%" by '%'. Other letters
/// stay as they are.
std::string expand_placeholders(std::string_view text,
                                std::initializer_list<std::pair<char, std::string>> values);
/// Returns whether `expand_placeholders` would replace "%LETTER" in `text`.
bool has_placeholder(std::string_view text, char letter);

}  // namespace weft
