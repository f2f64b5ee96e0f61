// SPDX-License-Identifier: Apache-2.0
#include "sim/topology/topology_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace weft::sim {
namespace {

constexpr std::uintmax_t largest_file = 64u << 20;

bool opens_block(std::string_view line) {
  for (const std::string_view word : {"Switch", "Ca"}) {
    if (line.starts_with(word) && line.size() > word.size() &&
        (line[word.size()] == ' ' || line[word.size()] == '\t')) {
      // `Switch = …` would be TOML.
      const std::size_t next = line.find_first_not_of(" \t", word.size());
      return next != std::string_view::npos && line[next] >= '0' && line[next] <= '9';
    }
  }
  return false;
}

bool is_dump(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (opens_block(text.substr(0, end))) return true;
    if (end == std::string_view::npos) return false;
    text.remove_prefix(end + 1);
  }
  return false;
}

}  // namespace

Result<Topology> parse_topology_file(std::string_view text, const std::string& file) {
  return is_dump(text) ? parse_ibnetdiscover(text, file) : parse_toml_topology(text, file);
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
