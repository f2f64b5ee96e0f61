// SPDX-License-Identifier: Apache-2.0
#include "sim/topology/topology_file.hpp"

#include "base/system_error.hpp"
#include "sim/topology/line_cursor.hpp"

namespace weft::sim {
namespace {

constexpr std::size_t largest_file = 64u << 20;

enum class Format : std::uint8_t { toml, ibnetdiscover, opensm };

bool opens_block(std::string_view line) {
  for (const std::string_view word : {"Switch", "Ca"}) {
    if (!line.starts_with(word)) continue;
    // `Switch = …` would be TOML.
    const std::size_t next = line.find_first_not_of(" \t", word.size());
    return next != word.size() && next != std::string_view::npos && line[next] >= '0' &&
           line[next] <= '9';
  }
  return false;
}

Format format_of(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (opens_block(line)) return Format::ibnetdiscover;
    if (line.starts_with("{ CA") || line.starts_with("{ SW")) return Format::opensm;
  }
  return Format::toml;
}

}  // namespace

Result<Topology> parse_topology_file(std::string_view text, const std::string& file) {
  switch (format_of(text)) {
    case Format::ibnetdiscover:
      return parse_ibnetdiscover(text, file);
    case Format::opensm:
      return parse_opensm_subnet(text, file);
    case Format::toml:
      break;
  }
  return parse_toml_topology(text, file);
}

Result<Topology> read_topology_file(const std::string& path) {
  const auto text = read_text_file(path, largest_file);
  if (!text) return Error{text.error().code, "topology: " + text.error().message};
  return parse_topology_file(*text, path);
}

}  // namespace weft::sim
