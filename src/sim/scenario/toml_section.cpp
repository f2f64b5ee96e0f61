// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/toml_section.hpp"

#include "sim/scenario/scenario.hpp"

namespace weft::sim {

std::string setting_of(const toml::node& node) {
  const auto& path = node.source().path;
  return path && path->starts_with(set_option) ? *path : std::string();
}

std::optional<std::string> scalar_text(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* yes = node.as_boolean()) return yes->get() ? "true" : "false";
  return std::nullopt;
}

std::string shown(const toml::node& node) {
  if (node.is_table()) return "{…}";
  if (node.is_array()) return "[…]";
  return shown(scalar_text(node).value_or("a date"));
}

void TomlSection::refuse_text(const toml::node& where, const std::string& message) const {
  std::string place = setting_of(where);
  if (place.empty()) place = fmt::format("{}:{}", file_, where.source().begin.line);
  throw TomlRefusal{{ErrorCode::invalid_argument, one_line(fmt::format("{}: {}", place, message))}};
}

}  // namespace weft::sim
