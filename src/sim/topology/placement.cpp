// SPDX-License-Identifier: Apache-2.0
#include "sim/topology/placement.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <sstream>
#include <unordered_map>

#include "base/make_error.hpp"
#include "base/number_text.hpp"
#include "base/rng.hpp"
#include "base/system_error.hpp"

namespace weft::sim {
namespace {

constexpr std::uint64_t largest_file = 64u << 20;

using Hosts = std::vector<std::uint32_t>;

Hosts random_hosts(std::uint64_t seed, std::span<const std::uint32_t> free, std::uint32_t count) {
  Hosts hosts(free.begin(), free.end());
  Rng rng(seed);
  for (std::uint32_t i = 0; i < count; ++i) {
    std::swap(hosts[i], hosts[i + rng.below(hosts.size() - i)]);
  }
  hosts.resize(count);
  return hosts;
}

/// Sorted by how many free hosts of the same switch come before, then by switch.
Hosts round_robin_hosts(const Topology& topology, std::span<const std::uint32_t> free,
                        std::uint32_t count) {
  struct Turn {
    std::uint32_t round, edge, host;
    auto operator<=>(const Turn&) const = default;
  };
  std::vector<std::uint32_t> seen(topology.vertices());
  std::vector<Turn> turns;
  turns.reserve(free.size());
  for (const std::uint32_t host : free) {
    const std::uint32_t edge = topology.edge(host).value();
    turns.push_back({.round = seen[edge]++, .edge = edge, .host = host});
  }
  std::sort(turns.begin(), turns.end());
  Hosts hosts;
  for (std::uint32_t i = 0; i < count; ++i) hosts.push_back(turns[i].host);
  return hosts;
}

/// A line without its comment and the space around.
std::string_view content(std::string_view line) {
  line = line.substr(0, line.find('#'));
  const std::size_t first = line.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

Result<Hosts> hosts_from_file(const std::string& path, const Topology& topology,
                              std::span<const std::uint32_t> free, std::uint32_t count) {
  const auto text = read_text_file(path, largest_file);
  if (!text) return Error{text.error().code, "placement: " + text.error().message};
  std::istringstream in(*text);
  std::unordered_map<std::string, std::uint32_t> by_label;
  for (std::uint32_t h = 0; h < topology.hosts(); ++h) {
    by_label.emplace(topology.label(topology.host(h)), h);
  }
  std::vector<bool> available(topology.hosts());
  for (const std::uint32_t host : free) available[host] = true;
  Hosts hosts;
  std::string line;
  for (std::size_t number = 1; hosts.size() < count && std::getline(in, line); ++number) {
    const std::string name(content(line));
    if (name.empty()) continue;
    const auto found = by_label.find(name);
    const std::uint32_t host = found != by_label.end()
                                   ? found->second
                                   : parse_number<std::uint32_t>(name).value_or(topology.hosts());
    if (host >= topology.hosts()) {
      return invalid("{}:{}: '{}' is no host; use a label or a number from 0 to {}", path, number,
                     name, topology.hosts() - 1);
    }
    if (!available[host]) {
      return invalid("{}:{}: host '{}' is taken already; name another one", path, number, name);
    }
    available[host] = false;
    hosts.push_back(host);
  }
  if (hosts.size() < count) {
    return invalid("{}: it names {} hosts, {} are needed; add some", path, hosts.size(), count);
  }
  return hosts;
}

}  // namespace

Result<PlacementOptions> parse_placement(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const bool has_value = colon != std::string_view::npos;
  const std::string_view value = has_value ? text.substr(colon + 1) : std::string_view{};
  PlacementOptions options;
  if (kind == "contiguous" && !has_value) return options;
  if (kind == "round-robin" && !has_value) {
    options.kind = PlacementKind::round_robin;
    return options;
  }
  const auto seed = parse_number<std::uint64_t>(value);
  if (kind == "random" && (!has_value || seed)) {
    options.seed = seed.value_or(options.seed);
    options.kind = PlacementKind::random;
    return options;
  }
  if (kind == "file" && !value.empty()) {
    options.kind = PlacementKind::file;
    options.path = value;
    return options;
  }
  return invalid(
      "placement '{}' is none of contiguous, random, random:SEED, round-robin, file:PATH", text);
}

Result<Hosts> place(const PlacementOptions& options, const Topology& topology,
                    std::uint32_t count) {
  Hosts all(topology.hosts());
  std::iota(all.begin(), all.end(), 0u);
  return place(options, topology, all, count);
}

Result<Hosts> place(const PlacementOptions& options, const Topology& topology,
                    std::span<const std::uint32_t> free, std::uint32_t count) {
  if (count > free.size()) {
    return invalid("{} processes are more than the {} free hosts of '{}'; use a larger topology",
                   count, free.size(), topology.name());
  }
  switch (options.kind) {
    case PlacementKind::random:
      return random_hosts(options.seed, free, count);
    case PlacementKind::round_robin:
      return round_robin_hosts(topology, free, count);
    case PlacementKind::file:
      return hosts_from_file(options.path, topology, free, count);
    case PlacementKind::contiguous:
      break;
  }
  return Hosts(free.begin(), free.begin() + count);
}

}  // namespace weft::sim
