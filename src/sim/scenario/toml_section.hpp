// SPDX-License-Identifier: Apache-2.0
// TomlSection: one table of a scenario, key by key, with errors that name the line, the key, its
// value and the fix.
#pragma once

#include <fmt/format.h>

#include <toml++/toml.h>
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/nearest.hpp"
#include "base/units.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft::sim {

/// An error in a file, on its way out of the functions that read it.
struct TomlRefusal {
  Error error;
};

/// The beginning of the origin of nodes that do not come from the file: "--set KEY=VALUE".
inline constexpr std::string_view set_option = "--set ";

/// That, or empty.
std::string setting_of(const toml::node& node);
/// A scalar as the command line would have it; none for other nodes.
std::optional<std::string> scalar_text(const toml::node& node);
/// A value for messages: short, and on one line.
std::string shown(const toml::node& node);

/// Reads one table of a file, key by key. Refuses keys that the reader did not name, as unknown.
class TomlSection {
 public:
  /// `path` is the section's name for messages: "network", or empty for the whole file. All are
  /// referred to.
  TomlSection(const std::string& file, const toml::table& table, std::string path)
      : file_(file), table_(table), path_(std::move(path)) {}

  /// "FILE:LINE: what is wrong; the fix".
  template <class... Args>
  [[noreturn]] void refuse(const toml::node& where, fmt::format_string<Args...> format,
                           Args&&... args) const {
    refuse_text(where, fmt::format(format, std::forward<Args>(args)...));
  }
  /// "FILE:LINE: KEY = VALUE: what is wrong; the fix".
  template <class... Args>
  [[noreturn]] void refuse_value(const toml::node& value, std::string_view key,
                                 fmt::format_string<Args...> format, Args&&... args) const {
    const std::string message = fmt::format(format, std::forward<Args>(args)...);
    // A setting says both already.
    refuse_text(value, setting_of(value).empty()
                           ? fmt::format("{} = {}: {}", full(key), shown(value), message)
                           : fmt::format("{}: {}", full(key), message));
  }

  /// The value of a key, which is known from now on; null when it is not there.
  const toml::node* get(std::string_view key) {
    if (!knows(key)) known_.push_back(key);
    return table_.get(key);
  }
  std::string full(std::string_view key) const {
    return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
  }

  void text(std::string_view key, std::string& target) {
    if (const toml::node* node = get(key)) target = text_of(*node, key);
  }
  void flag(std::string_view key, bool& target) {
    const toml::node* node = get(key);
    if (node == nullptr) return;
    if (!node->is_boolean())
      refuse_value(*node, key, "it is neither true nor false; write one of them");
    target = node->as_boolean()->get();
  }
  template <class T>
  void integer(std::string_view key, T& target, std::int64_t least, std::int64_t most) {
    const toml::node* node = get(key);
    if (node == nullptr) return;
    const auto* number = node->as_integer();
    if (number == nullptr || number->get() < least || number->get() > most) {
      refuse_value(*node, key, "it is no whole number from {0} to {1}; use {0} to {1}", least,
                   most);
    }
    target = static_cast<T>(number->get());
  }
  void number(std::string_view key, double& target, double least, double most) {
    const toml::node* node = get(key);
    if (node == nullptr) return;
    const double value = node->value<double>().value_or(least - 1);
    if (!node->is_number() || !(value >= least && value <= most)) {
      refuse_value(*node, key, "it is no number from {0} to {1}; use {0} to {1}", least, most);
    }
    target = value;
  }
  void duration(std::string_view key, Duration& target) {
    parsed(key, target, parse_duration, "\"20us\"");
  }
  void duration(std::string_view key, PicoDuration& target) {
    Duration ns = to_nano(target);
    if (const toml::node* node = table_.get(key); node != nullptr) {
      duration(key, ns);
      if (ns > Duration::seconds(86'400))
        refuse_value(*node, key, "it is more than a day; use less");
      target = to_pico(ns);
    } else {
      get(key);
    }
  }
  void rate(std::string_view key, Bandwidth& target) {
    parsed(key, target, parse_bandwidth, "\"100Gbit\"");
  }
  /// At most `most` bytes.
  template <class T>
  void bytes(std::string_view key, T& target, std::uint64_t most) {
    const toml::node* node = get(key);
    if (node == nullptr) return;
    std::string text;
    if (const auto* number = node->as_integer()) {
      text = fmt::format("{}", number->get());
    } else {
      text = text_of(*node, key);
    }
    const auto value = parse_byte_count(text);
    if (!value) refuse_value(*node, key, "{}", value.error().message);
    if (value->value() > most) {
      refuse_value(*node, key, "it is too large; use at most {}", to_text(ByteCount(most)));
    }
    target = static_cast<T>(value->value());
  }

  /// A section within this one, or null.
  const toml::table* section(std::string_view key) {
    const toml::node* node = get(key);
    if (node == nullptr) return nullptr;
    if (!node->is_table()) refuse_value(*node, key, "it is no section; write [{}]", full(key));
    return node->as_table();
  }
  /// The sections of a list, at most so many.
  std::vector<const toml::table*> sections(std::string_view key, std::size_t most) {
    std::vector<const toml::table*> all;
    const toml::node* node = get(key);
    if (node == nullptr) return all;
    if (!node->is_array()) refuse_value(*node, key, "it is no list; write [[{}]]", full(key));
    for (const toml::node& item : *node->as_array()) {
      if (!item.is_table())
        refuse_value(item, key, "it lists what is no section; write [[{}]]", full(key));
      if (all.size() == most)
        refuse(item, "there are more than {} of {}; leave some out", most, full(key));
      all.push_back(item.as_table());
    }
    return all;
  }

  /// True when the reader named the key.
  bool knows(std::string_view key) const {
    return std::find(known_.begin(), known_.end(), key) != known_.end();
  }

  /// Refuses the keys that the reader did not name; after the last key.
  void finish() const {
    for (const auto& [key, node] : table_) {
      const std::string_view name = key.str();
      if (knows(name)) continue;
      refuse_value(node, name, "{}",
                   unknown_key(name, path_.empty() ? "a scenario" : path_, known_));
    }
  }

  const std::string& text_of(const toml::node& node, std::string_view key) const {
    const auto* text = node.as_string();
    if (text == nullptr) refuse_value(node, key, "it is not text in quotes; write it in quotes");
    return text->get();
  }

 private:
  template <class T, class Parse>
  void parsed(std::string_view key, T& target, Parse parse, std::string_view example) {
    const toml::node* node = get(key);
    if (node == nullptr) return;
    if (!node->is_string())
      refuse_value(*node, key, "it is not text with a unit; write it like {}", example);
    const auto value = parse(text_of(*node, key));
    if (!value) {
      refuse_value(*node, key, "{}; write it like {}", value.error().message, example);
    }
    target = *value;
  }

  [[noreturn]] void refuse_text(const toml::node& where, const std::string& message) const;

  const std::string& file_;
  const toml::table& table_;
  std::string path_;
  std::vector<std::string_view> known_;
};

}  // namespace weft::sim
