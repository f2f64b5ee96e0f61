// SPDX-License-Identifier: Apache-2.0
// JSON objects whose members are listed once for both directions: `members(v, object)` calls
// v.member(name, object.field) for each, and `v` is a JsonWriter or a JsonReader.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace weft {

class JsonWriter {
 public:
  using Json = nlohmann::ordered_json;

  /// Times and identifiers are numbers.
  template <class T>
  void member(const char* name, const T& value) {
    if constexpr (requires { value.ticks(); }) {
      json_[name] = value.ticks();
    } else if constexpr (requires { T(value.value()).value(); }) {
      json_[name] = value.value();
    } else {
      json_[name] = value;
    }
  }
  /// Left out when there is none.
  template <class T>
  void member(const char* name, const std::optional<T>& value) {
    if (value) member(name, *value);
  }
  /// Text of any bytes, which may be no text of JSON's.
  void bytes(const char* name, const std::string& text) {
    json_[name] = std::vector<std::uint8_t>(text.begin(), text.end());
  }
  template <class T, class Members>
  void part(const char* name, const T& value, const Members& members) {
    json_[name] = of(value, members);
  }
  template <class T, class Members>
  void rows(const char* name, const std::vector<T>& rows, const Members& members) {
    Json& array = json_[name] = Json::array();
    for (const T& row : rows) array.push_back(of(row, members));
  }
  /// The elements of an array, in place of members.
  template <class... T>
  void elements(const T&... values) {
    json_ = Json::array({values...});
  }
  template <class T, class Members>
  static Json of(const T& value, const Members& members) {
    JsonWriter writer;
    members(writer, value);
    return std::move(writer.json_);
  }

 private:
  Json json_;
};

/// Throws nlohmann::json::exception when a member is missing or of another type.
class JsonReader {
 public:
  using Json = nlohmann::ordered_json;

  /// `at` is the name of the member that was read last, as far as one was found.
  explicit JsonReader(const Json& json, std::string* at = nullptr) : json_(json), at_(at) {}

  template <class T>
  void member(const char* name, T& value) const {
    const Json& json = find(name);
    if constexpr (requires { value.ticks(); }) {
      value = T(json.get<decltype(value.ticks())>());
    } else if constexpr (requires { T(value.value()).value(); }) {
      value = T(json.get<decltype(value.value())>());
    } else {
      value = json.get<T>();
    }
  }
  template <class T>
  void member(const char* name, std::optional<T>& value) const {
    if (json_.contains(name)) member(name, value.emplace());
  }
  void bytes(const char* name, std::string& text) const {
    const auto values = find(name).get<std::vector<std::uint8_t>>();
    text.assign(values.begin(), values.end());
  }
  template <class T, class Members>
  void part(const char* name, T& value, const Members& members) const {
    members(JsonReader(find(name), at_), value);
  }
  template <class T, class Members>
  void rows(const char* name, std::vector<T>& rows, const Members& members) const {
    for (const Json& row : json_.at(name)) {
      find(name);
      members(JsonReader(row, at_), rows.emplace_back());
    }
  }
  template <class... T>
  void elements(T&... values) const {
    std::size_t i = 0;
    ((values = json_.at(i++).get<T>()), ...);
  }

 private:
  const Json& find(const char* name) const {
    const Json& found = json_.at(name);
    if (at_ != nullptr) *at_ = name;
    return found;
  }

  const Json& json_;
  std::string* at_;
};

}  // namespace weft
