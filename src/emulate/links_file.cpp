// SPDX-License-Identifier: Apache-2.0
#include "emulate/links_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/make_error.hpp"
#include "base/nearest.hpp"
#include "base/parse_toml.hpp"
#include "base/rng.hpp"
#include "base/system_error.hpp"
#include "base/units.hpp"
#include "emulate/run.hpp"
#include "sim/routing/routers.hpp"
#include "sim/topology/builders.hpp"

namespace weft::emulate {
namespace {

constexpr std::string_view kKeys[] = {"topology", "latency", "bandwidth"};
constexpr std::size_t kLargestFile = std::size_t{1} << 20;  // 45 rows are a tenth of it

class LinksFile {
 public:
  LinksFile(std::string name, ControlBlock& block) : name_(std::move(name)), block_(block) {}

  Result<void> load();

 private:
  Error wrong(std::string_view why) const { return invalid("--links {}: {}", name_, why); }
  Result<void> load_matrices(const toml::table& table);
  Result<void> load_topology(const toml::table& table, std::string_view topology);
  Result<void> follow(const sim::Topology& topology, const sim::Router& router, unsigned from,
                      unsigned to, Picoseconds latency);
  /// Words of row `from`, as many as there are ranks; empty where the key is not there.
  Result<std::vector<std::vector<std::string>>> matrix(const toml::table& table,
                                                       const char* key) const;
  Result<Picoseconds> latency(std::string_view text) const;
  Result<std::uint64_t> rate(std::string_view text) const;

  std::string name_;
  ControlBlock& block_;
};

Result<Picoseconds> LinksFile::latency(std::string_view text) const {
  const auto value = parse_duration(text);
  if (!value) return wrong(fmt::format("latency '{}': {}", text, value.error().message));
  if (*value > kLongestLatency) return wrong(fmt::format("latency '{}': is above 10 s", text));
  return static_cast<Picoseconds>(value->ticks() * 1'000);
}

Result<std::uint64_t> LinksFile::rate(std::string_view text) const {
  if (text == "0") return std::uint64_t{0};
  const auto value = parse_bandwidth_from(
      Bandwidth::bytes_per_second(static_cast<std::uint64_t>(kSlowestRate)), text);
  if (!value) return wrong(fmt::format("bandwidth '{}': {}", text, value.error().message));
  const auto bytes_per_s = static_cast<double>(value->bytes_per_second());
  if (bytes_per_s < kSlowestRate || bytes_per_s > kFastestRate) {
    return wrong(
        fmt::format("bandwidth '{}': lies not between 1 kB/s and 1 TB/s; write \"0\" for a "
                    "link without a limit",
                    text));
  }
  return value->bytes_per_second();
}

Result<std::vector<std::vector<std::string>>> LinksFile::matrix(const toml::table& table,
                                                                const char* key) const {
  std::vector<std::vector<std::string>> rows;
  if (!table.contains(key)) return rows;
  const toml::array* const lines = table[key].as_array();
  if (lines == nullptr) return wrong(fmt::format("{} is no matrix, of a row for each rank", key));
  for (const toml::node& line : *lines) {
    rows.emplace_back();
    const toml::array* const words = line.as_array();
    if (words == nullptr || words->size() != lines->size()) {
      return wrong(fmt::format("{} has {} rows, so each must be an array of {} texts", key,
                               lines->size(), lines->size()));
    }
    for (const toml::node& word : *words) {
      const auto text = word.value<std::string>();
      if (!text) return wrong(fmt::format("{} has a value that is no text; write \"2us\"", key));
      rows.back().push_back(*text);
    }
  }
  if (rows.size() > kMostRanks || rows.size() * rows.size() > kMostLinks) {
    return wrong(fmt::format("{} has {} rows; there may be 45", key, rows.size()));
  }
  return rows;
}

Result<void> LinksFile::load_matrices(const toml::table& table) {
  const auto latencies = matrix(table, "latency");
  if (!latencies) return latencies.error();
  const auto rates = matrix(table, "bandwidth");
  if (!rates) return rates.error();
  const std::size_t ranks = std::max(latencies->size(), rates->size());
  if (ranks == 0) {
    return wrong("has neither topology nor the matrices latency and bandwidth");
  }
  if (!latencies->empty() && !rates->empty() && latencies->size() != rates->size()) {
    return wrong("latency and bandwidth are of different sizes");
  }
  for (std::size_t i = 0; i < ranks * ranks; ++i) {
    Path& path = block_.paths[i];
    if (!latencies->empty()) {
      const auto value = latency((*latencies)[i / ranks][i % ranks]);
      if (!value) return value.error();
      path.latency = *value;
    }
    if (rates->empty()) continue;
    const auto value = rate((*rates)[i / ranks][i % ranks]);
    if (!value) return value.error();
    block_.link_rates[i] = *value;
    path.links[0] = static_cast<std::uint16_t>(i);
    path.hops = 1;
  }
  block_.pair_count = static_cast<std::uint32_t>(ranks);
  return {};
}

Result<void> LinksFile::follow(const sim::Topology& topology, const sim::Router& router,
                               unsigned from, unsigned to, Picoseconds latency) {
  Path& path = block_.paths[from * topology.hosts() + to];
  Rng rng(1);
  sim::RouteState state;
  router.start(state, from, to, 0, rng);
  sim::PortRef out{topology.host(from), sim::PortNumber(0)};
  const std::vector<std::uint32_t> idle(1 << 16);
  for (;;) {
    if (path.hops == kMostHops) {
      return wrong(
          fmt::format("the path from host {} to {} has more than {} cables", from, to, kMostHops));
    }
    path.links[path.hops++] = static_cast<std::uint16_t>(topology.link(out).value());
    path.latency += latency;
    if (path.latency > kLongestLatency.ticks() * 1'000) {
      return wrong(fmt::format("the path from host {} to {} has a latency above 10 s", from, to));
    }
    const sim::PortRef at = topology.peer(topology.link(out));
    if (topology.is_host(at.vertex)) return {};
    const sim::Hop hop = router.next(at.vertex, at.port, state, sim::PortLoad(idle), rng);
    out = {at.vertex, hop.port};
  }
}

Result<void> LinksFile::load_topology(const toml::table& table, std::string_view word) {
  const auto topology = sim::make_topology(word);
  if (!topology) return wrong(topology.error().message);
  if (topology->hosts() > kMostRanks || topology->links() > kMostLinks) {
    return wrong(fmt::format("topology {}: has {} hosts and {} links; there may be {} and {}", word,
                             topology->hosts(), topology->links(), kMostRanks, kMostLinks));
  }
  const auto router = sim::make_router(sim::default_router(*topology), *topology);
  if (!router) return wrong(router.error().message);
  for (const char* key : {"latency", "bandwidth"}) {
    if (table.contains(key) && !table[key].is_string()) {
      return wrong(
          fmt::format("{} is that of each cable where there is a topology: one text", key));
    }
  }
  const auto cable_latency = latency(table["latency"].value_or(std::string_view("0")));
  if (!cable_latency) return cable_latency.error();
  const auto cable_rate = rate(table["bandwidth"].value_or(std::string_view("0")));
  if (!cable_rate) return cable_rate.error();
  std::fill_n(block_.link_rates, topology->links(), *cable_rate);
  for (unsigned from = 0; from < topology->hosts(); ++from) {
    for (unsigned to = 0; to < topology->hosts(); ++to) {
      if (from == to) continue;
      if (auto followed = follow(*topology, **router, from, to, *cable_latency); !followed) {
        return followed;
      }
    }
  }
  block_.pair_count = topology->hosts();
  return {};
}

Result<void> LinksFile::load() {
  // Not by the parser, to which a pipe, as of a shell's <(…), is empty.
  const auto text = read_text_file(name_, kLargestFile);
  if (!text) return Error{text.error().code, "--links: " + text.error().message};
  try {
    const toml::table table = parse_toml(*text, name_);
    for (const auto& [key, value] : table) {
      if (std::ranges::find(kKeys, key.str()) == std::end(kKeys)) {
        return wrong(unknown_key(key.str(), "a file of links", kKeys));
      }
    }
    if (const auto topology = table["topology"].value<std::string>()) {
      return load_topology(table, *topology);
    }
    if (table.contains("topology")) return wrong("topology is no text; write \"star:4\"");
    return load_matrices(table);
  } catch (const toml::parse_error& error) {
    return wrong(fmt::format("line {}: {}; correct that line, or name a TOML file of links",
                             error.source().begin.line, error.description()));
  }
}

}  // namespace

Result<void> load_links(const std::string& file, ControlBlock& block) {
  return LinksFile(file, block).load();
}

}  // namespace weft::emulate
