// SPDX-License-Identifier: Apache-2.0
#include "emulate/sweep/json_fields.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

namespace weft::emulate {
namespace {

using Json = nlohmann::ordered_json;

/// Each `read_as` sets `out`, or returns what is wrong.
std::string read_as(const Json& json, std::int64_t least, std::int64_t most, std::int64_t& out) {
  // Of an unsigned number beyond 63 bits, get() would make a negative one.
  const bool is_too_large = json.is_number_unsigned() && json.get<std::uint64_t>() > INT64_MAX;
  if (!json.is_number_integer() || is_too_large || json.get<std::int64_t>() < least ||
      json.get<std::int64_t>() > most) {
    return fmt::format("is not a whole number from {} to {}", least, most);
  }
  out = json.get<std::int64_t>();
  return {};
}

std::string read_as(const Json& json, double least, double most, double& out) {
  if (!json.is_number() || !(json.get<double>() >= least && json.get<double>() <= most)) {
    return fmt::format("is not a number from {:g} to {:g}", least, most);
  }
  out = json.get<double>();
  return {};
}

std::string read_as(const Json& json, std::string& out) {
  if (!json.is_string()) return "is not text";
  out = json.get<std::string>();
  return out.find('\0') == std::string::npos ? "" : "has a NUL character";
}

}  // namespace

struct JsonFields::Object {
  explicit Object(Json parsed) : json(std::move(parsed)) {}

  Json json;

  template <class T, class... Range>
  T read(const char* name, std::string& wrong, T value, Range... range) const {
    const auto found = json.find(name);
    const std::string why = found == json.end() ? "is missing" : read_as(*found, range..., value);
    if (wrong.empty() && !why.empty()) wrong = fmt::format("{}: {}", name, why);
    return value;
  }

  template <class T, class... Range>
  std::vector<T> read_list(const char* name, std::string& wrong, Range... range) const {
    std::vector<T> values;
    const auto found = json.find(name);
    std::string why = found == json.end() ? "is missing" : found->is_array() ? "" : "is not a list";
    for (std::size_t i = 0; why.empty() && i < found->size(); ++i) {
      why = read_as((*found)[i], range..., values.emplace_back());
    }
    if (wrong.empty() && !why.empty()) wrong = fmt::format("{}: {}", name, why);
    return values;
  }
};

JsonFields::JsonFields(std::string_view text)
    : object_(std::make_unique<Object>(Json::parse(text, nullptr, /*allow_exceptions=*/false))) {
  if (object_->json.is_object()) return;
  wrong_ = object_->json.is_discarded() ? "is not whole JSON" : "is no JSON object";
  object_->json = Json::object();
}

JsonFields::~JsonFields() = default;

std::int64_t JsonFields::whole(const char* name, std::int64_t least, std::int64_t most) {
  return object_->read(name, wrong_, least, least, most);
}

double JsonFields::number(const char* name, double least, double most) {
  return object_->read(name, wrong_, least, least, most);
}

std::optional<double> JsonFields::number_or_null(const char* name, double least, double most) {
  const auto found = object_->json.find(name);
  if (found != object_->json.end() && found->is_null()) return std::nullopt;
  return number(name, least, most);
}

bool JsonFields::flag(const char* name) {
  const auto found = object_->json.find(name);
  if (found != object_->json.end() && found->is_boolean()) return found->get<bool>();
  if (wrong_.empty()) wrong_ = fmt::format("{}: is not true or false", name);
  return false;
}

std::string JsonFields::text(const char* name) {
  return object_->read(name, wrong_, std::string());
}

std::vector<std::int64_t> JsonFields::wholes(const char* name, std::int64_t least,
                                             std::int64_t most) {
  return object_->read_list<std::int64_t>(name, wrong_, least, most);
}

std::vector<double> JsonFields::numbers(const char* name, double least, double most) {
  return object_->read_list<double>(name, wrong_, least, most);
}

std::vector<std::string> JsonFields::texts(const char* name) {
  return object_->read_list<std::string>(name, wrong_);
}

}  // namespace weft::emulate
