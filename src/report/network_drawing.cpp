// SPDX-License-Identifier: Apache-2.0
#include "report/network_drawing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

namespace weft::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_points = 120;  // of a distribution
constexpr std::size_t most_flows = 600;

/// Four digits are more than a picture shows.
double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return 0;
  const double unit = std::pow(10, 3 - std::floor(std::log10(std::fabs(value))));
  return std::round(value * unit) / unit;
}

/// Parallel cables between two vertices, drawn as one.
struct Bundle {
  std::uint32_t a = 0, b = 0;          // a < b
  std::vector<std::uint32_t> forward;  // links from a to b
  std::vector<std::uint32_t> back;
};

std::vector<Bundle> bundles_of(const NetworkTopology& t, bool with_hosts) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, Bundle> found;
  for (std::uint32_t l = 0; l < t.links.size(); ++l) {
    const NetworkLink& link = t.links[l];
    const bool of_host = t.vertices[link.from].host || t.vertices[link.to].host;
    if (of_host && !with_hosts) continue;
    const auto ends = std::minmax(link.from, link.to);
    Bundle& bundle = found[ends];
    bundle.a = ends.first;
    bundle.b = ends.second;
    (link.from == ends.first ? bundle.forward : bundle.back).push_back(l);
  }
  std::vector<Bundle> bundles;
  for (auto& [ends, bundle] : found) bundles.push_back(std::move(bundle));
  return bundles;
}

double load_of(const NetworkRun& run, const std::vector<std::uint32_t>& links) {
  double load = 0;
  for (const std::uint32_t l : links) load = std::max(load, run.links[l].utilisation);
  return load;
}
double queue_of(const NetworkRun& run, const std::vector<std::uint32_t>& links) {
  double queue = 0;
  for (const std::uint32_t l : links) queue = std::max(queue, run.links[l].queue_mean_bytes);
  return queue;
}

/// Leaves the busiest.
void thin(std::vector<Bundle>& bundles, const NetworkRecord& record) {
  if (bundles.size() <= most_drawn_cables) return;
  const auto busiest = [&](const Bundle& b) {
    double load = 0;
    for (const NetworkRun& run : record.runs) {
      load = std::max({load, load_of(run, b.forward), load_of(run, b.back)});
    }
    return load;
  };
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < bundles.size(); ++i) order.emplace_back(-busiest(bundles[i]), i);
  std::sort(order.begin(), order.end());
  std::vector<Bundle> kept;
  for (std::size_t i = 0; i < most_drawn_cables; ++i) {
    kept.push_back(std::move(bundles[order[i].second]));
  }
  bundles = std::move(kept);
}

Json draw_topology(const NetworkRecord& record) {
  const NetworkTopology& t = record.topology;
  const std::size_t hosts = host_count(t);
  const bool with_hosts = hosts <= most_drawn_hosts;
  std::vector<std::uint32_t> number(t.vertices.size(), 0);
  Json vertices = Json::array();
  for (std::uint32_t v = 0; v < t.vertices.size(); ++v) {
    const NetworkVertex& vertex = t.vertices[v];
    if (vertex.host && !with_hosts) continue;
    number[v] = static_cast<std::uint32_t>(vertices.size());
    Json drawn{{"host", vertex.host}, {"name", vertex.name}, {"level", vertex.level}};
    if (vertex.group) drawn["group"] = *vertex.group;
    if (!vertex.position.empty()) drawn["position"] = vertex.position;
    vertices.push_back(std::move(drawn));
  }
  std::vector<Bundle> bundles = bundles_of(t, with_hosts);
  const std::size_t all = bundles.size();
  thin(bundles, record);
  Json cables = Json::array();
  for (const Bundle& b : bundles) {
    Json loads = Json::array();
    for (const NetworkRun& run : record.runs) {
      loads.push_back({rounded(load_of(run, b.forward)), rounded(load_of(run, b.back)),
                       rounded(queue_of(run, b.forward)), rounded(queue_of(run, b.back))});
    }
    cables.push_back({{"a", number[b.a]},
                      {"b", number[b.b]},
                      {"cables", std::max(b.forward.size(), b.back.size())},
                      {"loads", std::move(loads)}});
  }
  return {{"shape", t.shape},
          {"hosts", hosts},
          {"with_hosts", with_hosts},
          {"cables_in_all", all},
          {"vertices", std::move(vertices)},
          {"cables", std::move(cables)}};
}

/// Per class of links, their loads from the busiest on: at even places, the last one too.
Json distribution(const NetworkTopology& t, const NetworkRun& run) {
  std::map<std::string, std::vector<double>> classes;
  for (std::uint32_t l = 0; l < t.links.size(); ++l) {
    classes[link_class(t, l)].push_back(run.links[l].utilisation);
  }
  Json all = Json::array();
  for (auto& [name, loads] : classes) {
    std::sort(loads.rbegin(), loads.rend());
    const std::size_t points = std::min(loads.size(), most_points);
    Json kept = Json::array();
    for (std::size_t i = 0; i < points; ++i) {
      kept.push_back(rounded(loads[points == 1 ? 0 : i * (loads.size() - 1) / (points - 1)]));
    }
    const double sum = std::accumulate(loads.begin(), loads.end(), 0.0);
    all.push_back({{"name", name},
                   {"links", loads.size()},
                   {"mean", rounded(sum / static_cast<double>(loads.size()))},
                   {"loads", std::move(kept)}});
  }
  return all;
}

/// The mean of each `per` steps.
Json coarser(const std::vector<double>& values, std::size_t per) {
  Json out = Json::array();
  for (std::size_t i = 0; i < values.size(); i += per) {
    const std::size_t end = std::min(i + per, values.size());
    double sum = 0;
    for (std::size_t k = i; k < end; ++k) sum += values[k];
    out.push_back(rounded(sum / static_cast<double>(end - i)));
  }
  return out;
}

/// The rows that have most, of those that `wanted` lets in.
template <class Wanted, class Values>
Json rows_over_time(const NetworkRecord& record, const NetworkRun& run, std::size_t per,
                    Wanted wanted, Values values) {
  std::vector<std::pair<double, const LinkSeries*>> order;
  for (const LinkSeries& s : run.series) {
    if (!wanted(s.link)) continue;
    const auto& v = values(s);
    const double sum = std::accumulate(v.begin(), v.end(), 0.0);
    if (sum > 0) order.emplace_back(-sum, &s);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  Json rows = Json::array();
  for (std::size_t i = 0; i < std::min(order.size(), most_drawn_rows); ++i) {
    const LinkSeries& s = *order[i].second;
    const NetworkLink& l = record.topology.links[s.link];
    rows.push_back({{"name", link_name(record.topology, s.link)},
                    {"short",
                     {short_name(record.topology.vertices[l.from]),
                      short_name(record.topology.vertices[l.to])}},
                    {"values", coarser(values(s), per)}});
  }
  return rows;
}

Json draw_messages(const NetworkRun& run) {
  Json all = Json::array();
  for (const MessageFigures& m : run.messages) {
    Json buckets = Json::array(), sizes = Json::array(), flows = Json::array();
    for (const LatencyBucket& b : m.buckets) {
      buckets.push_back({rounded(b.from_us), rounded(b.to_us), b.count});
    }
    for (const SizeRow& s : m.sizes) {
      const LatencyQuantiles& q = s.latency_us;
      sizes.push_back({{"from_bytes", s.from_bytes},
                       {"messages", s.messages},
                       {"min", q.min},
                       {"p10", q.p10},
                       {"median", q.median},
                       {"p90", q.p90},
                       {"p99", q.p99},
                       {"max", q.max}});
    }
    const std::size_t stride =
        std::max<std::size_t>(1, (m.flows.size() + most_flows - 1) / most_flows);
    for (std::size_t i = 0; i < m.flows.size(); i += stride) {
      const FlowRow& f = m.flows[i];
      flows.push_back({rounded(f.start_us), rounded(f.end_us - f.start_us), f.bytes});
    }
    all.push_back({{"name", m.name},
                   {"messages", m.messages},
                   {"median", m.latency_us.median},
                   {"p90", m.latency_us.p90},
                   {"p99", m.latency_us.p99},
                   {"max", m.latency_us.max},
                   {"buckets", std::move(buckets)},
                   {"sizes", std::move(sizes)},
                   {"flows", std::move(flows)}});
  }
  return all;
}

Json draw_run(const NetworkRecord& record, const NetworkRun& run) {
  const NetworkTopology& t = record.topology;
  const std::size_t per =
      std::max<std::size_t>(1, (run.steps + most_drawn_steps - 1) / most_drawn_steps);
  const auto from_host = [&](std::uint32_t l) { return t.vertices[t.links[l].from].host; };
  const auto queue = [](const LinkSeries& s) -> const std::vector<double>& {
    return s.queue_bytes;
  };
  const auto load = [](const LinkSeries& s) -> const std::vector<double>& { return s.utilisation; };
  return {{"name", run.name},
          {"end_us", run.end_us},
          {"step_us", run.step_us * static_cast<double>(per)},
          {"distribution", distribution(t, run)},
          {"queues", rows_over_time(
                         record, run, per, [&](std::uint32_t l) { return !from_host(l); }, queue)},
          {"backlog", rows_over_time(record, run, per, from_host, queue)},
          {"busy", rows_over_time(
                       record, run, per, [](std::uint32_t) { return true; }, load)},
          {"messages", draw_messages(run)}};
}

}  // namespace

std::string short_name(const NetworkVertex& vertex) {
  const std::string_view kind = vertex.host ? "host " : "switch ";
  const std::string_view name = vertex.name;
  if (!name.starts_with(kind) || name.size() == kind.size()) return vertex.name;
  const std::string_view number = name.substr(kind.size());
  const bool is_number =
      std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
  return is_number ? fmt::format("{}{}", kind[0], number) : vertex.name;
}

std::string link_name(const NetworkTopology& t, std::uint32_t link) {
  const NetworkLink& l = t.links[link];
  return fmt::format("{} → {}", t.vertices[l.from].name, t.vertices[l.to].name);
}

std::string link_class(const NetworkTopology& t, std::uint32_t link) {
  const NetworkLink& l = t.links[link];
  const NetworkVertex& from = t.vertices[l.from];
  const NetworkVertex& to = t.vertices[l.to];
  if (from.host) return "from hosts";
  if (to.host) return "to hosts";
  if (l.kind == "global") return "between groups";
  if (from.level != to.level) return fmt::format("level {} to {}", from.level, to.level);
  return t.shape == "dragonfly" ? "within groups" : "between switches";
}

std::size_t host_count(const NetworkTopology& t) {
  return static_cast<std::size_t>(std::count_if(t.vertices.begin(), t.vertices.end(),
                                                [](const NetworkVertex& v) { return v.host; }));
}

std::string drawing_of(const NetworkRecord& record) {
  Json runs = Json::array();
  for (const NetworkRun& run : record.runs) runs.push_back(draw_run(record, run));
  const Json all{{"network", draw_topology(record)}, {"of", std::move(runs)}};
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace weft::report
