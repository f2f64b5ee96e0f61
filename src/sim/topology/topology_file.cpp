// SPDX-License-Identifier: Apache-2.0
#include "sim/topology/topology_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "sim/topology/line_cursor.hpp"

namespace weft::sim {
namespace {

constexpr std::uintmax_t largest_file = 64u << 20;

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
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    return Error{ErrorCode::not_found, fmt::format("topology 'file:{}': {}; name a file", path,
                                                   error ? error.message() : "that is not a file")};
  }
  if (const auto size = std::filesystem::file_size(path, error); error || size > largest_file) {
    return Error{
        ErrorCode::invalid_argument,
        fmt::format("topology 'file:{}': {}", path,
                    error ? error.message() : "it has more than 64 MiB; use a smaller one")};
  }
  std::ifstream in(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in) {
    return Error{ErrorCode::io,
                 fmt::format("topology 'file:{}': cannot be read: {}", path, std::strerror(errno))};
  }
  return parse_topology_file(text, path);
}

}  // namespace weft::sim
