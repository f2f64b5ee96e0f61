// SPDX-License-Identifier: Apache-2.0
// RecordReader reads members of one JSON object and remembers the first thing that is wrong, with
// its path. Rows can be hundreds of thousands: the path is composed only for an error.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <concepts>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::report {

class RecordReader {
 public:
  using Json = nlohmann::ordered_json;

  RecordReader(const Json& object, std::string& error) : object_(object), error_(error) {
    if (!object_.is_object()) fail("", "is not an object");
  }

  bool good() const { return error_.empty(); }
  void fail(std::string_view name, std::string_view what) const {
    if (!good()) return;
    std::string at = path() + std::string(name);
    if (name.empty() && !at.empty()) at.pop_back();
    error_ = at.empty() ? fmt::format("it {}", what) : fmt::format("\"{}\" {}", at, what);
  }

  void check(bool is_wrong, const char* name, std::string_view what) const {
    if (is_wrong) fail(name, what);
  }

  /// Each `member` reads a required member into `out`. Errors: it is missing or of another type.
  template <std::unsigned_integral T>
  void member(const char* name, T& out, std::uint64_t most = std::numeric_limits<T>::max()) const {
    const Json* j = need(name);
    if (j == nullptr) return;
    if (!j->is_number_unsigned()) return fail(name, "is not a whole number of 0 or more");
    const auto value = j->get<std::uint64_t>();
    if (value > most) return fail(name, fmt::format("is {}, more than {}", value, most));
    out = static_cast<T>(value);
  }
  /// Reads null as NaN: a writer has no other form for a figure that is not finite.
  void member(const char* name, double& out) const {
    if (object_.is_object() && object_.contains(name) && object_[name].is_null()) {
      out = std::numeric_limits<double>::quiet_NaN();
    } else if (const Json* j = need(name)) {
      if (!j->is_number()) return fail(name, "is not a number");
      out = j->get<double>();
    }
  }
  void member(const char* name, std::string& out) const {
    const Json* j = need(name);
    if (j != nullptr && !j->is_string()) return fail(name, "is not text");
    if (j != nullptr) out = j->get<std::string>();
  }
  void member(const char* name, bool& out) const {
    const Json* j = need(name);
    if (j != nullptr && !j->is_boolean()) return fail(name, "is not true or false");
    if (j != nullptr) out = j->get<bool>();
  }
  /// A member without a value is missing or null.
  template <class T>
  void member(const char* name, std::optional<T>& out) const {
    if (find(name) != nullptr) member(name, out.emplace());
  }
  /// Reads a member that files of earlier versions do not have.
  template <class T>
  void later(const char* name, T& out) const {
    if (find(name) != nullptr) member(name, out);
  }
  /// A required number that is finite and not negative.
  void amount(const char* name, double& out, int /*digits*/ = 0) const {
    const Json* j = need(name);
    if (j == nullptr) return;
    if (!is_amount(*j)) return fail(name, "is not a number of 0 or more");
    out = j->get<double>();
  }
  /// Such numbers, exactly so many.
  void amounts(const char* name, std::vector<double>& out, std::size_t count) const {
    const Json* j = need(name);
    if (j == nullptr) return;
    if (!j->is_array() || j->size() != count) {
      return fail(name, fmt::format("is not an array of {} numbers", count));
    }
    out.reserve(count);
    for (const Json& value : *j) {
      if (!is_amount(value)) return fail(name, "holds what is not a number of 0 or more");
      out.push_back(value.get<double>());
    }
  }
  /// A member that may be missing: whole numbers up to `largest`, at most so many.
  void numbers(const char* name, std::vector<std::uint32_t>& out, std::size_t most,
               std::uint32_t largest) const {
    const Json* j = find(name);
    if (j == nullptr) return;
    if (!j->is_array() || j->size() > most) {
      return fail(name, fmt::format("is not an array of up to {} numbers", most));
    }
    for (const Json& value : *j) {
      if (!value.is_number_unsigned() || value.get<std::uint64_t>() > largest) {
        return fail(name, fmt::format("holds what is not a number up to {}", largest));
      }
      out.push_back(value.get<std::uint32_t>());
    }
  }
  void needed_texts(const char* name, std::vector<std::pair<std::string, std::string>>& out) const {
    if (need(name) != nullptr) texts(name, out);
  }
  void texts(const char* name, std::vector<std::pair<std::string, std::string>>& out) const {
    const Json* j = find(name);
    if (j == nullptr) return;
    if (!j->is_object()) return fail(name, "is not an object");
    for (const auto& [key, value] : j->items()) {
      if (!value.is_string()) return fail(fmt::format("{}.{}", name, key), "is not text");
      out.emplace_back(key, value.get<std::string>());
    }
  }
  /// Calls read(reader, row) for each element of a member that may be missing.
  template <class Row, class Read>
  void rows(const char* name, std::vector<Row>& out, const Read& read) const {
    const Json* j = find(name);
    if (j == nullptr) return;
    if (!j->is_array()) return fail(name, "is not an array");
    out.reserve(j->size());
    for (std::size_t i = 0; i < j->size() && good(); ++i) {
      const RecordReader row((*j)[i], *this, name, i);
      read(row, out.emplace_back());
    }
  }
  template <class Row, class Read>
  void samples(const char* name, std::vector<Row>& out, const Read& read) const {
    rows(name, out, read);
  }
  /// The same for a member that must not be missing.
  template <class Row, class Read>
  void needed_rows(const char* name, std::vector<Row>& out, const Read& read) const {
    if (need(name) != nullptr) rows(name, out, read);
  }
  /// Calls read(reader, out) for an object that may be missing.
  template <class T, class Read>
  void part(const char* name, T& out, const Read& read) const {
    const Json* j = find(name);
    if (j == nullptr) return;
    const RecordReader in(*j, *this, name);
    read(in, out);
  }
  template <class T, class Read>
  void part(const char* name, std::optional<T>& out, const Read& read) const {
    if (find(name) != nullptr) part(name, out.emplace(), read);
  }
  /// The same for an object that must not be missing.
  template <class T, class Read>
  void needed_part(const char* name, T& out, const Read& read) const {
    if (need(name) != nullptr) part(name, out, read);
  }
  /// Returns a member; null, with an error, when it is missing.
  const Json* need(const char* name) const {
    const Json* member = good() ? find(name) : nullptr;
    if (member == nullptr) fail(name, "is missing");
    return member;
  }
  /// Returns a member; null when it is missing or null.
  const Json* find(const char* name) const {
    if (!object_.is_object()) return nullptr;
    const auto it = object_.find(name);
    return it == object_.end() || it->is_null() ? nullptr : &*it;
  }

 private:
  static constexpr std::size_t no_index = ~std::size_t{0};

  RecordReader(const Json& object, const RecordReader& parent, const char* name,
               std::size_t index = no_index)
      : object_(object), error_(parent.error_), parent_(&parent), name_(name), index_(index) {
    if (!object_.is_object()) fail("", "is not an object");
  }

  static bool is_amount(const Json& j) {
    return j.is_number() && std::isfinite(j.get<double>()) && j.get<double>() >= 0;
  }
  std::string path() const {
    if (parent_ == nullptr) return {};
    const std::string index = index_ == no_index ? std::string() : fmt::format("[{}]", index_);
    return fmt::format("{}{}{}.", parent_->path(), name_, index);
  }

  const Json& object_;
  std::string& error_;
  const RecordReader* parent_ = nullptr;
  const char* name_ = "";
  std::size_t index_ = no_index;
};

}  // namespace weft::report
