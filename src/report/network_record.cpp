// SPDX-License-Identifier: Apache-2.0
// Writing: by hand, since the record of a large network has hundreds of thousands of rows.
#include "report/network_record.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

namespace weft::report {
namespace {

std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

class Writer {
 public:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }
  void number(double value) {
    fmt::format_to(std::back_inserter(text_), "{:.6g}", std::isfinite(value) ? value : 0.0);
  }
  void numbers(const std::vector<double>& values) {
    text_ += '[';
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i > 0) text_ += ',';
      number(values[i]);
    }
    text_ += ']';
  }
  /// "name":[item, …], a line each; `write` writes one.
  template <class T, class Write>
  void array(const char* name, const std::vector<T>& items, Write write) {
    add("\"{}\":[", name);
    for (std::size_t i = 0; i < items.size(); ++i) {
      text_ += i == 0 ? "\n" : ",\n";
      write(items[i]);
    }
    text_ += ']';
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void write(Writer& w, const NetworkVertex& v) {
  w.add("{{\"kind\":\"{}\",\"name\":{},\"level\":{}", v.host ? "host" : "switch", json_text(v.name),
        v.level);
  if (v.group) w.add(",\"group\":{}", *v.group);
  if (!v.position.empty()) w.add(",\"position\":[{}]", fmt::join(v.position, ","));
  w.add("}}");
}

void write(Writer& w, const NetworkLink& l) {
  w.add("{{\"from\":{},\"to\":{},\"kind\":{},\"rate_bytes_per_s\":{:.10g}}}", l.from, l.to,
        json_text(l.kind), std::isfinite(l.rate_bytes_per_s) ? l.rate_bytes_per_s : 0);
}

void write(Writer& w, const LinkLoad& l) {
  w.add("{{\"utilisation\":");
  w.number(l.utilisation);
  w.add(",\"packets\":{},\"bytes\":{},\"queue_mean_bytes\":", l.packets, l.bytes);
  w.number(l.queue_mean_bytes);
  w.add(",\"queue_peak_bytes\":{},\"levels\":[", l.queue_peak_bytes);
  for (std::size_t i = 0; i < l.levels.size(); ++i) {
    const LevelLoad& v = l.levels[i];
    w.add("{}{{\"level\":{},\"packets\":{},\"bytes\":{},\"waited_us\":", i == 0 ? "" : ",", v.level,
          v.packets, v.bytes);
    w.number(v.waited_us);
    w.add("}}");
  }
  w.add("]}}");
}

void write(Writer& w, const LinkSeries& s) {
  w.add("{{\"link\":{},\"utilisation\":", s.link);
  w.numbers(s.utilisation);
  w.add(",\"queue_bytes\":");
  w.numbers(s.queue_bytes);
  w.add("}}");
}

void write(Writer& w, const LatencyQuantiles& q) {
  w.add(
      "{{\"min\":{:.6g},\"p10\":{:.6g},\"median\":{:.6g},\"p90\":{:.6g},\"p99\":{:.6g},"
      "\"max\":{:.6g},\"mean\":{:.6g}}}",
      q.min, q.p10, q.median, q.p90, q.p99, q.max, q.mean);
}

void write(Writer& w, const MessageFigures& m) {
  w.add("{{\"name\":{},\"messages\":{},\"bytes\":{},\"latency_us\":", json_text(m.name), m.messages,
        m.bytes);
  write(w, m.latency_us);
  w.add(",\n");
  w.array("buckets", m.buckets, [&](const LatencyBucket& b) {
    w.add("{{\"from_us\":{:.8g},\"to_us\":{:.8g},\"count\":{}}}", b.from_us, b.to_us, b.count);
  });
  w.add(",\n");
  w.array("sizes", m.sizes, [&](const SizeRow& s) {
    w.add("{{\"from_bytes\":{},\"messages\":{},\"latency_us\":", s.from_bytes, s.messages);
    write(w, s.latency_us);
    w.add("}}");
  });
  w.add(",\n");
  w.array("flows", m.flows, [&](const FlowRow& f) {
    w.add("{{\"source\":{},\"destination\":{},\"bytes\":{},\"start_us\":{:.9g},\"end_us\":{:.9g}}}",
          f.source, f.destination, f.bytes, f.start_us, f.end_us);
  });
  w.add("}}");
}

void write(Writer& w, const NetworkRun& r) {
  w.add("{{\"name\":{},\"trace_hash\":{},\"end_us\":{:.9g},\"step_us\":{:.9g},\"steps\":{},\n",
        json_text(r.name), json_text(r.trace_hash), r.end_us, r.step_us, r.steps);
  w.array("links", r.links, [&](const LinkLoad& l) { write(w, l); });
  w.add(",\n");
  w.array("series", r.series, [&](const LinkSeries& s) { write(w, s); });
  w.add(",\n");
  w.array("messages", r.messages, [&](const MessageFigures& m) { write(w, m); });
  w.add("}}");
}

}  // namespace

std::string to_json(const NetworkRecord& record) {
  Writer w;
  w.add("{{\"version\":{},\"command\":{},\"seed\":{},\"parameters\":{{", json_text(record.version),
        json_text(record.command), record.seed);
  for (std::size_t i = 0; i < record.parameters.size(); ++i) {
    const auto& [name, value] = record.parameters[i];
    w.add("{}{}:{}", i == 0 ? "" : ",", json_text(name), json_text(value));
  }
  const NetworkTopology& t = record.topology;
  w.add("}},\n\"topology\":{{\"name\":{},\"shape\":{},\"router\":{},\n", json_text(t.name),
        json_text(t.shape), json_text(t.router));
  w.array("vertices", t.vertices, [&](const NetworkVertex& v) { write(w, v); });
  w.add(",\n");
  w.array("links", t.links, [&](const NetworkLink& l) { write(w, l); });
  w.add("}},\n");
  w.array("runs", record.runs, [&](const NetworkRun& r) { write(w, r); });
  w.add("}}\n");
  return w.take();
}

}  // namespace weft::report
