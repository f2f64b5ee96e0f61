// SPDX-License-Identifier: Apache-2.0
#include "stream/uri.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/nearest.hpp"
#include "base/number_text.hpp"
#include "base/units.hpp"

namespace weft {

Result<Uri> Uri::parse(std::string_view text) {
  Uri uri;
  uri.text_ = text;
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    return uri.error("no scheme; write SCHEME:PATH, as in file:data.bin or pattern:");
  }
  uri.scheme_ = text.substr(0, colon);
  if (uri.scheme_.empty() || !std::ranges::all_of(uri.scheme_, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
      })) {
    return uri.error("the scheme before ':' must be a word of lower-case letters, as in file:");
  }
  const std::size_t question = text.find('?', colon);
  std::string_view path = text.substr(colon + 1, question - colon - 1);
  for (std::size_t at; (at = path.find("%3F")) != std::string_view::npos;) {
    uri.path_.append(path.substr(0, at)).push_back('?');
    path.remove_prefix(at + 3);
  }
  uri.path_.append(path);
  if (question == std::string_view::npos) return uri;
  std::string_view query = text.substr(question + 1);
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    if (auto added = uri.add_pair(query.substr(0, end)); !added) return std::move(added).error();
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  return uri;
}

Result<void> Uri::add_pair(std::string_view pair) {
  const std::size_t equals = pair.find('=');
  Pair added{std::string(pair.substr(0, equals)), {}, equals != std::string_view::npos};
  if (added.has_value) added.value = pair.substr(equals + 1);
  if (added.key.empty()) return error(fmt::format("'{}' after '?' is no key=value", pair));
  if (has(added.key)) return error(fmt::format("key '{}' is given twice", added.key));
  pairs_.push_back(std::move(added));
  return {};
}

const Uri::Pair* Uri::find(std::string_view key) const {
  const auto found = std::ranges::find(pairs_, key, &Pair::key);
  return found == pairs_.end() ? nullptr : &*found;
}

std::string Uri::get(std::string_view key, std::string_view fallback) const {
  const Pair* const pair = find(key);
  return pair ? pair->value : std::string(fallback);
}

Result<void> Uri::allow(std::initializer_list<std::string_view> known) const {
  for (const Pair& pair : pairs_) {
    if (std::ranges::find(known, pair.key) != known.end()) continue;
    if (known.size() == 0) {
      return error(fmt::format("unknown key '{}'; {}: knows none", pair.key, scheme_));
    }
    return error(unknown_key(pair.key, scheme_ + ":", std::span(known.begin(), known.size())));
  }
  return {};
}

Result<void> Uri::need_path(std::string_view what) const {
  if (path_.empty()) return error(fmt::format("{} is missing after '{}:'", what, scheme_));
  return {};
}

Result<std::uint64_t> Uri::number(std::string_view key, std::uint64_t fallback, std::uint64_t least,
                                  std::uint64_t most) const {
  const Pair* const pair = find(key);
  if (!pair) return fallback;
  const auto value = parse_number<std::uint64_t>(pair->value);
  if (value && *value >= least && *value <= most) return *value;
  return key_error(key, fmt::format("must be a whole number from {} to {}", least, most));
}

Result<ByteCount> Uri::bytes(std::string_view key, ByteCount fallback, ByteCount least,
                             ByteCount most) const {
  const Pair* const pair = find(key);
  if (!pair) return fallback;
  const auto value = parse_byte_count(pair->value);
  if (!value) return key_error(key, value.error().message);
  if (*value < least || *value > most) {
    return key_error(key, fmt::format("must be from {} to {}", to_text(least), to_text(most)));
  }
  return *value;
}

Result<Duration> Uri::duration(std::string_view key, Duration fallback) const {
  const Pair* const pair = find(key);
  if (!pair) return fallback;
  const auto value = parse_duration(pair->value);
  if (!value) return key_error(key, value.error().message);
  if (*value <= Duration{}) return key_error(key, "must be more than 0");
  return *value;
}

Result<bool> Uri::flag(std::string_view key) const {
  const Pair* const pair = find(key);
  if (!pair || pair->value == "no" || pair->value == "0") return false;
  if (!pair->has_value || pair->value == "yes" || pair->value == "1") return true;
  return key_error(key, "must be yes or no");
}

Error Uri::error(std::string_view why, ErrorCode code) const {
  return {code, fmt::format("'{}': {}", text_, why)};
}

Error Uri::key_error(std::string_view key, std::string_view why) const {
  const Pair* const pair = find(key);
  if (!pair || !pair->has_value) return error(fmt::format("{}: {}", key, why));
  return error(fmt::format("{}={}: {}", key, pair->value, why));
}

std::string expand_placeholders(std::string_view text,
                                std::initializer_list<std::pair<char, std::string>> values) {
  std::string expanded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%' || i + 1 == text.size()) {
      expanded.push_back(text[i]);
      continue;
    }
    const char letter = text[i + 1];
    const auto found = std::ranges::find(values, letter, &std::pair<char, std::string>::first);
    if (found == values.end() && letter != '%') {
      expanded.push_back('%');
      continue;
    }
    expanded += letter == '%' ? "%" : found->second;
    ++i;
  }
  return expanded;
}

bool has_placeholder(std::string_view text, char letter) {
  return expand_placeholders(text, {{letter, "a"}}) != expand_placeholders(text, {{letter, "b"}});
}

}  // namespace weft
