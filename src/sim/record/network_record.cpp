// SPDX-License-Identifier: Apache-2.0
#include "sim/record/network_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

namespace weft::sim {
namespace {

double in_us(PicoDuration d) {
  return static_cast<double>(d.ticks()) / 1e6;
}
double in_us(PicoInstant t) {
  return in_us(t - PicoInstant());
}

const char* to_text(CableKind kind) {
  switch (kind) {
    case CableKind::host:
      return "host";
    case CableKind::global:
      return "global";
    case CableKind::local:
      break;
  }
  return "local";
}

/// Returns how many cables each switch is from the nearest host.
std::vector<std::uint32_t> levels_of(const Topology& t) {
  constexpr std::uint32_t unknown = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> levels(t.vertices(), unknown);
  std::vector<Vertex> next;
  for (std::uint32_t h = 0; h < t.hosts(); ++h) {
    levels[h] = 0;
    next.push_back(t.host(h));
  }
  for (std::size_t i = 0; i < next.size(); ++i) {
    const Vertex v = next[i];
    for (std::uint16_t p = 0; p < t.ports(v); ++p) {
      const Vertex to = t.peer(t.link({v, PortNumber(p)})).vertex;
      if (levels[to.value()] != unknown) continue;
      levels[to.value()] = levels[v.value()] + 1;
      next.push_back(to);
    }
  }
  for (auto& level : levels) level = level == unknown ? 0 : level;
  return levels;
}

void place(const FatTreeShape& shape, report::NetworkTopology& out, const Topology& t) {
  const std::uint32_t hosts = t.hosts();
  out.shape = shape.levels == 1 ? "star" : "fat-tree";
  if (shape.levels < 3 || shape.leaves_per_pod == 0) return;
  const std::uint32_t pods = shape.pods();
  const std::uint32_t per_pod = shape.middles / std::max(pods, 1U);
  for (std::uint32_t v = 0; v < out.vertices.size(); ++v) {
    std::optional<std::uint32_t>& group = out.vertices[v].group;
    if (v < hosts) {
      group = v / std::max(shape.hosts_per_leaf, 1U) / shape.leaves_per_pod;
    } else if (v < hosts + shape.leaves) {
      group = (v - hosts) / shape.leaves_per_pod;
    } else if (v < hosts + shape.leaves + shape.middles && per_pod > 0) {
      group = (v - hosts - shape.leaves) / per_pod;
    }
  }
}

/// Groups have equally many hosts, so that the routers of none need be full.
void place(const DragonflyShape& shape, report::NetworkTopology& out, const Topology& t) {
  out.shape = "dragonfly";
  const std::uint32_t routers = std::max(shape.routers_per_group(), 1U);
  for (std::uint32_t v = 0; v < out.vertices.size(); ++v) {
    const bool is_host = t.is_host(Vertex(v));
    const Vertex at = is_host ? t.peer(t.link({Vertex(v), PortNumber(0)})).vertex : Vertex(v);
    out.vertices[v].group = (at.value() - t.hosts()) / routers;
    if (!is_host) out.vertices[v].level = 1;
  }
}

void place(const TorusShape& shape, report::NetworkTopology& out, const Topology& t) {
  out.shape = "torus";
  const std::uint32_t hosts = t.hosts();
  for (std::uint32_t v = hosts; v < out.vertices.size(); ++v) {
    std::uint32_t rest = v - hosts;
    out.vertices[v].level = 1;
    for (const std::uint32_t size : shape.sizes) {
      out.vertices[v].position.push_back(rest % std::max(size, 1U));
      rest /= std::max(size, 1U);
    }
  }
}

void place(std::monostate, report::NetworkTopology& out, const Topology&) {
  out.shape = "other";
}

report::LatencyQuantiles quantiles_of(const LatencyHistogram& h, double min, double max) {
  const auto at = [&](double q) { return std::clamp(h.quantile_ns(q) / 1e3, min, max); };
  return {.min = min,
          .p10 = at(0.1),
          .median = at(0.5),
          .p90 = at(0.9),
          .p99 = at(0.99),
          .max = max,
          .mean = h.mean_ns() / 1e3};
}

/// Estimates the quantiles of a histogram; the ends of its outermost buckets stand for the
/// extremes.
report::LatencyQuantiles quantiles_of(const LatencyHistogram& h) {
  std::size_t last = 0;
  for (std::size_t b = 0; b < h.buckets.size(); ++b) {
    if (h.buckets[b] > 0) last = b;
  }
  return quantiles_of(h, h.quantile_ns(0) / 1e3, in_us(LatencyHistogram::lower(last + 1)));
}

report::MessageFigures messages_of(const FlowFigures& flows, std::string name) {
  report::MessageFigures m{.name = std::move(name),
                           .messages = flows.latencies().count,
                           .bytes = flows.bytes(),
                           .latency_us = quantiles_of(flows.latencies(), in_us(flows.shortest()),
                                                      in_us(flows.longest()))};
  const auto& buckets = flows.latencies().buckets;
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    if (buckets[b] == 0) continue;
    m.buckets.push_back({.from_us = in_us(LatencyHistogram::lower(b)),
                         .to_us = in_us(LatencyHistogram::lower(b + 1)),
                         .count = buckets[b]});
  }
  for (std::size_t c = 0; c < FlowFigures::size_classes; ++c) {
    const LatencyHistogram* of = flows.of_size(c);
    if (of == nullptr) continue;
    m.sizes.push_back({.from_bytes = std::uint64_t{1} << c,
                       .messages = of->count,
                       .latency_us = quantiles_of(*of)});
  }
  for (const FlowSample& f : flows.samples()) {
    m.flows.push_back({.source = f.source,
                       .destination = f.destination,
                       .bytes = f.bytes,
                       .start_us = in_us(f.start),
                       .end_us = in_us(f.end)});
  }
  return m;
}

std::vector<report::LevelLoad> level_loads(const Recorder& recorder, LinkId link) {
  std::vector<report::LevelLoad> levels;
  for (std::uint8_t level = 0; level < recorder.levels(); ++level) {
    const LinkCounters& did = recorder.counters(link, level);
    if (did == LinkCounters()) continue;
    levels.push_back({.level = level,
                      .packets = did.packets,
                      .bytes = did.bytes,
                      .waited_us = in_us(did.waited)});
  }
  return levels;
}

}  // namespace

report::NetworkTopology network_topology(const Recorder& recorder) {
  const Topology& t = recorder.topology();
  report::NetworkTopology out{.name = t.name(), .router = recorder.router()};
  const std::vector<std::uint32_t> levels = levels_of(t);
  out.vertices.reserve(t.vertices());
  for (std::uint32_t v = 0; v < t.vertices(); ++v) {
    out.vertices.push_back(
        {.host = t.is_host(Vertex(v)), .name = t.label(Vertex(v)), .level = levels[v]});
  }
  std::visit([&](const auto& shape) { place(shape, out, t); }, t.shape());
  out.links.reserve(t.links());
  for (std::uint32_t l = 0; l < t.links(); ++l) {
    const LinkId link(l);
    out.links.push_back(
        {.from = t.port(link).vertex.value(),
         .to = t.peer(link).vertex.value(),
         .kind = to_text(t.kind(link)),
         .rate_bytes_per_s = static_cast<double>(recorder.rate(link).bytes_per_second())});
  }
  return out;
}

std::vector<std::string> names_of(std::span<const TrafficPattern> patterns) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const auto same = [&](auto first, auto last) { return std::count(first, last, patterns[i]); };
    names.emplace_back(to_text(patterns[i]));
    if (same(patterns.begin(), patterns.end()) == 1) continue;
    const auto before = patterns.begin() + static_cast<std::ptrdiff_t>(i);
    names.back() += fmt::format(" {}", same(patterns.begin(), before) + 1);
  }
  return names;
}

report::NetworkRun network_run(const Recorder& recorder, std::uint64_t trace_hash,
                               std::span<const std::string> users) {
  const LinkTelemetry& links = recorder.links();
  report::NetworkRun run{.trace_hash = fmt::format("{:016x}", trace_hash),
                         .end_us = in_us(links.end()),
                         .step_us = in_us(links.step()),
                         .steps = links.steps()};
  run.links.reserve(recorder.topology().links());
  for (std::uint32_t l = 0; l < recorder.topology().links(); ++l) {
    const LinkTotals& totals = links.totals(LinkId(l));
    run.links.push_back({.utilisation = links.utilisation(LinkId(l)),
                         .packets = totals.packets,
                         .bytes = totals.bytes,
                         .queue_mean_bytes = links.queue(LinkId(l)),
                         .queue_peak_bytes = totals.queue_peak,
                         .levels = level_loads(recorder, LinkId(l))});
  }
  for (const LinkId l : links.most_loaded(recorder.topology(), report::most_link_series)) {
    report::LinkSeries series{.link = l.value()};
    for (std::uint32_t s = 0; s < links.steps(); ++s) {
      series.utilisation.push_back(links.utilisation(l, s));
      series.queue_bytes.push_back(links.queue(l, s));
    }
    run.series.push_back(std::move(series));
  }
  for (std::size_t u = 0; u < users.size(); ++u) {
    const FlowFigures* flows = recorder.flows().user(u);
    if (flows == nullptr || users[u].empty()) continue;
    run.messages.push_back(messages_of(*flows, users[u]));
  }
  return run;
}

}  // namespace weft::sim
