// SPDX-License-Identifier: Apache-2.0
#include "sim/topology/options.hpp"

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <utility>

#include "base/make_error.hpp"
#include "base/number_text.hpp"

namespace weft::sim {
namespace {

using Setters =
    std::vector<std::pair<std::string_view, std::function<std::string(std::string_view)>>>;

Error wrong(std::string_view text, std::string_view why) {
  return invalid("topology '{}': {}", text, why);
}

/// Reads a number between 1 and `most` into `target`. Yields what is wrong, or nothing.
std::string take_count(std::string_view name, std::string_view value, std::uint32_t most,
                       std::uint32_t& target) {
  const auto count = parse_number<std::uint32_t>(value);
  if (!count || *count == 0 || *count > most) {
    return fmt::format("{} '{}' is no number from 1 to {}", name, value, most);
  }
  target = *count;
  return {};
}

auto count_setter(std::string_view name, std::uint32_t most, std::uint32_t& target) {
  return std::pair{
      name, std::function<std::string(std::string_view)>([=, &target](std::string_view value) {
        return take_count(name, value, most, target);
      })};
}

std::string_view cut(std::string_view& rest, char separator) {
  const std::size_t end = rest.find(separator);
  const std::string_view head = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  return head;
}

/// Applies "key=value,key=value". Yields what is wrong, or nothing.
std::string apply(std::string_view words, const Setters& setters) {
  while (!words.empty()) {
    std::string_view value = cut(words, ',');
    const bool has_value = value.find('=') != std::string_view::npos;
    const std::string_view key = cut(value, '=');
    std::string known;
    const std::function<std::string(std::string_view)>* setter = nullptr;
    for (const auto& [name, set] : setters) {
      known += fmt::format("{}{}=", known.empty() ? "" : ", ", name);
      if (name == key) setter = &set;
    }
    if (setter == nullptr || !has_value) {
      return known.empty() ? fmt::format("'{}' is too much; it takes no parameters", key)
                           : fmt::format("'{}' is no parameter of it; there are {}", key, known);
    }
    if (std::string why = (*setter)(value); !why.empty()) return why;
  }
  return {};
}

/// "2", "1.5", "3:2".
std::string take_taper(std::string_view value, Taper& taper) {
  const std::string why = fmt::format(
      "taper '{}' is no ratio from 1 to 64; write it like 2, 1.5 or "
      "3:2",
      value);
  std::string_view rest = value;
  const char separator = value.find('.') != std::string_view::npos ? '.' : ':';
  const bool has_separator = value.find(separator) != std::string_view::npos;
  const auto down = parse_number<std::uint32_t>(cut(rest, separator));
  const auto second =
      has_separator ? parse_number<std::uint32_t>(rest) : std::optional<std::uint32_t>(1);
  if (!down || !second || *down > 1000 || *second > 1000 || rest.size() > 3) return why;
  taper = {.down = *down, .up = *second};
  if (separator == '.') {
    taper.up = 1;
    for (std::size_t digit = 0; digit < rest.size(); ++digit) taper.up *= 10;
    taper.down = *down * taper.up + *second;
  }
  if (taper.up == 0 || taper.down < taper.up || taper.down > 64 * taper.up) return why;
  return {};
}

std::string take_shape(std::string_view value, bool& xc40) {
  if (value != "full" && value != "xc40") {
    return fmt::format("shape '{}' is unknown; there are full and xc40", value);
  }
  xc40 = value == "xc40";
  return {};
}

std::string read_star(std::string_view words, StarOptions& options) {
  std::string why = take_count("the number of hosts", cut(words, ','), 65'535, options.hosts);
  if (why.empty()) why = apply(words, {});
  return why;
}

std::string read_fat_tree(std::string_view words, FatTreeOptions& options) {
  std::string why = take_count("the number of hosts", cut(words, ','), most_hosts, options.hosts);
  const auto levels = [&](std::string_view value) -> std::string {
    const auto count = parse_number<std::uint32_t>(value);
    if (!count || *count < 2 || *count > 3) return fmt::format("levels is 2 or 3, not {}", value);
    options.levels = *count;
    return {};
  };
  if (why.empty()) {
    why = apply(words, {{"levels", levels},
                        count_setter("radix", 65'534, options.radix),
                        {"taper", [&](auto value) { return take_taper(value, options.taper); }},
                        count_setter("cables", 65'534, options.cables)});
  }
  return why;
}

std::string read_dragonfly(std::string_view words, DragonflyOptions& options) {
  std::string why = take_count("the number of hosts", cut(words, ','), most_hosts, options.hosts);
  if (why.empty()) {
    why = apply(words, {{"shape", [&](auto value) { return take_shape(value, options.xc40); }},
                        count_setter("groups", 65'535, options.groups),
                        count_setter("routers", 65'535, options.routers),
                        count_setter("hosts", 65'535, options.hosts_per_router),
                        count_setter("global", 65'535, options.global_links),
                        count_setter("black", 1'024, options.chassis_cables)});
  }
  if (why.empty() && options.chassis_cables != 0 && !options.xc40) {
    why = "black= needs shape=xc40: a full group has no chassis";
  }
  return why;
}

std::string read_torus(std::string_view words, TorusOptions& options) {
  std::string_view sizes = cut(words, ',');
  std::string why;
  if (sizes.ends_with('x')) sizes = {};
  do {
    std::uint32_t size = 0;
    why = take_count("the size", cut(sizes, 'x'), 65'535, size);
    options.sizes.push_back(size);
  } while (why.empty() && !sizes.empty());
  if (!why.empty()) why += "; write the sizes like 8x8x8";
  if (why.empty()) {
    why = apply(words, {count_setter("hosts", 65'535, options.hosts_per_switch)});
  }
  return why;
}

}  // namespace

Result<TopologyOptions> parse_topology(std::string_view text) {
  std::string_view words = text;
  const bool has_words = text.find(':') != std::string_view::npos;
  const std::string_view kind = cut(words, ':');
  if (!has_words || words.empty()) {
    return wrong(text,
                 "write it like star:64, fat-tree:1024, dragonfly:384, torus:8x8x8 or file:PATH");
  }
  TopologyOptions options;
  std::string why;
  if (kind == "star") {
    why = read_star(words, options.emplace<StarOptions>());
  } else if (kind == "fat-tree") {
    why = read_fat_tree(words, options.emplace<FatTreeOptions>());
  } else if (kind == "dragonfly") {
    why = read_dragonfly(words, options.emplace<DragonflyOptions>());
  } else if (kind == "torus") {
    why = read_torus(words, options.emplace<TorusOptions>());
  } else if (kind == "file") {
    options.emplace<TopologyFileOptions>().path = words;
  } else {
    why = fmt::format(
        "'{}' is no kind of topology; there are star, fat-tree, dragonfly, torus and "
        "file",
        kind);
  }
  if (!why.empty()) return wrong(text, why);
  return options;
}

}  // namespace weft::sim
