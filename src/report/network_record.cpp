// SPDX-License-Identifier: Apache-2.0
// network.json. Nothing in a file is believed.
#include "report/network_record.hpp"

#include <fmt/format.h>

#include <cmath>
#include <concepts>
#include <iterator>
#include <type_traits>

#include "base/make_error.hpp"
#include "report/files.hpp"
#include "report/record_reader.hpp"
#include "report/run_record.hpp"

namespace weft::report {
namespace {

/// Writes one JSON object as text, with the verbs of RecordReader: the record of a large network
/// has hundreds of thousands of rows.
class TextWriter {
 public:
  explicit TextWriter(std::string& text) : text_(text) {}

  template <class T>
  void member(const char* name, const T& value, std::uint64_t /*most*/ = 0) {
    key(name);
    if constexpr (std::convertible_to<T, std::string_view>) {
      text(value);
    } else {
      fmt::format_to(std::back_inserter(text_), "{}", value);
    }
  }
  template <class T>
  void member(const char* name, const std::optional<T>& value) {
    if (value) member(name, *value);
  }
  void numbers(const char* name, const std::vector<std::uint32_t>& values, std::size_t /*count*/,
               std::uint64_t /*most*/) {
    if (values.empty()) return;
    key(name);
    fmt::format_to(std::back_inserter(text_), "[{}]", fmt::join(values, ","));
  }
  void amount(const char* name, double value, int digits = 6) {
    key(name);
    figure(value, digits);
  }
  void amounts(const char* name, const std::vector<double>& values, std::size_t /*count*/) {
    list(name, values, "", [&](double value) { figure(value, 6); });
  }
  void needed_texts(const char* name,
                    const std::vector<std::pair<std::string, std::string>>& texts) {
    needed_part(name, texts, [](TextWriter& v, const auto& all) {
      for (const auto& [entry, value] : all) {
        v.separate();
        v.text(entry);
        v.text_ += ':';
        v.text(value);
      }
    });
  }
  template <class Row, class Write>
  void rows(const char* name, const std::vector<Row>& rows, const Write& write) {
    list(name, rows, "\n", [&](const Row& row) { object(row, write); });
  }
  template <class Row, class Write>
  void needed_rows(const char* name, const std::vector<Row>& all, const Write& write) {
    rows(name, all, write);
  }
  template <class T, class Write>
  void needed_part(const char* name, const T& value, const Write& write) {
    key(name);
    object(value, write);
  }
  void check(bool /*is_wrong*/, const char* /*name*/, std::string_view /*what*/) {}
  template <class T, class Write>
  void object(const T& value, const Write& write) {
    text_ += '{';
    write(*this, value);
    text_ += '}';
  }

 private:
  void separate() { text_ += text_.back() == '{' ? "" : ","; }
  void key(const char* name) {
    separate();
    fmt::format_to(std::back_inserter(text_), "\"{}\":", name);
  }
  void text(std::string_view text) {
    text_ += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  void figure(double value, int digits) {
    fmt::format_to(std::back_inserter(text_), "{:.{}g}", std::isfinite(value) ? value : 0.0,
                   digits);
  }
  template <class T, class Write>
  void list(const char* name, const std::vector<T>& items, const char* before, const Write& write) {
    key(name);
    text_ += '[';
    for (std::size_t i = 0; i < items.size(); ++i) {
      text_ += i == 0 ? "" : ",";
      text_ += before;
      write(items[i]);
    }
    text_ += ']';
  }

  std::string& text_;
};

/// The members of each object in their order in the JSON. `v` is a TextWriter or a RecordReader.
namespace members {

constexpr auto vertex = [](auto& v, auto& vertex) {
  std::string kind = vertex.host ? "host" : "switch";
  v.member("kind", kind);
  if constexpr (!std::is_const_v<std::remove_reference_t<decltype(vertex)>>) {
    vertex.host = kind == "host";
  }
  v.member("name", vertex.name);
  v.member("level", vertex.level, 1000);
  v.member("group", vertex.group);
  v.numbers("position", vertex.position, 16, 1'000'000);
};

constexpr auto topology = [](auto& v, auto& t) {
  v.member("name", t.name);
  v.member("shape", t.shape);
  v.member("router", t.router);
  v.needed_rows("vertices", t.vertices, vertex);
  v.check(t.vertices.empty(), "vertices", "is empty");
  v.needed_rows("links", t.links, [&](auto& w, auto& l) {
    w.member("from", l.from, t.vertices.size() - 1);
    w.member("to", l.to, t.vertices.size() - 1);
    w.member("kind", l.kind);
    w.amount("rate_bytes_per_s", l.rate_bytes_per_s, 10);
  });
};

constexpr auto link_load = [](auto& v, auto& l) {
  v.amount("utilisation", l.utilisation);
  v.member("packets", l.packets);
  v.member("bytes", l.bytes);
  v.amount("queue_mean_bytes", l.queue_mean_bytes);
  v.member("queue_peak_bytes", l.queue_peak_bytes);
  v.rows("levels", l.levels, [](auto& w, auto& level) {
    w.member("level", level.level, 15);
    w.member("packets", level.packets);
    w.member("bytes", level.bytes);
    w.amount("waited_us", level.waited_us);
  });
};

constexpr auto latency = [](auto& v, auto& q) {
  v.amount("min", q.min);
  v.amount("p10", q.p10);
  v.amount("median", q.median);
  v.amount("p90", q.p90);
  v.amount("p99", q.p99);
  v.amount("max", q.max);
  v.amount("mean", q.mean);
};

constexpr auto messages = [](auto& v, auto& m) {
  v.member("name", m.name);
  v.member("messages", m.messages);
  v.member("bytes", m.bytes);
  v.needed_part("latency_us", m.latency_us, latency);
  v.needed_rows("buckets", m.buckets, [](auto& w, auto& b) {
    w.amount("from_us", b.from_us, 8);
    w.amount("to_us", b.to_us, 8);
    w.member("count", b.count);
  });
  v.needed_rows("sizes", m.sizes, [](auto& w, auto& s) {
    w.member("from_bytes", s.from_bytes);
    w.member("messages", s.messages);
    w.needed_part("latency_us", s.latency_us, latency);
  });
  v.needed_rows("flows", m.flows, [](auto& w, auto& f) {
    w.member("source", f.source);
    w.member("destination", f.destination);
    w.member("bytes", f.bytes);
    w.amount("start_us", f.start_us, 9);
    w.amount("end_us", f.end_us, 9);
  });
};

constexpr auto run = [](auto& v, auto& r, std::size_t links) {
  v.member("name", r.name);
  v.member("trace_hash", r.trace_hash);
  v.amount("end_us", r.end_us, 9);
  v.amount("step_us", r.step_us, 9);
  v.member("steps", r.steps, 100'000);
  v.needed_rows("links", r.links, link_load);
  v.check(r.links.size() != links, "links",
          fmt::format("has {} rows; the topology has {} links", r.links.size(), links));
  v.needed_rows("series", r.series, [&](auto& w, auto& s) {
    w.check(links == 0, "link", "is of no link");
    w.member("link", s.link, links - 1);
    w.amounts("utilisation", s.utilisation, r.steps);
    w.amounts("queue_bytes", s.queue_bytes, r.steps);
  });
  v.needed_rows("messages", r.messages, messages);
};

constexpr auto record = [](auto&& v, auto& r) {
  v.member("version", r.version);
  v.member("command", r.command);
  v.member("seed", r.seed);
  v.needed_texts("parameters", r.parameters);
  v.needed_part("topology", r.topology, topology);
  v.needed_rows("runs", r.runs,
                [&](auto& w, auto& each) { run(w, each, r.topology.links.size()); });
  v.check(r.runs.empty(), "runs", "is empty");
};

}  // namespace members

std::string network_path(const std::string& dir) {
  return in_directory(dir, "network.json");
}

}  // namespace

std::string to_json(const NetworkRecord& record) {
  std::string text;
  TextWriter(text).object(record, members::record);
  return text + "\n";
}

Result<NetworkRecord> network_from_json(std::string_view text, std::string_view origin) {
  const auto malformed = [&](std::string_view what) {
    return corrupt(
        "{}: not a record of a simulated network: {}; write it again with weft simulate --out",
        origin, what);
  };
  const auto parsed = RecordReader::Json::parse(text, nullptr, false);
  if (parsed.is_discarded()) return malformed("no valid JSON");
  std::string error;
  NetworkRecord record;
  members::record(RecordReader(parsed, error), record);
  if (!error.empty()) return malformed(error);
  return record;
}

Result<void> write_network(const std::string& dir, const NetworkRecord& record) {
  if (Result<void> made = make_directory(dir); !made) return made;
  return write_file_whole(network_path(dir), to_json(record));
}

Result<std::optional<NetworkRecord>> read_network(const std::string& dir) {
  const std::string path = network_path(dir);
  Result<std::string> text = read_file(path);
  if (!text) {
    if (text.error().code == ErrorCode::not_found) return std::optional<NetworkRecord>();
    return std::move(text).error();
  }
  Result<NetworkRecord> read = network_from_json(*text, path);
  if (!read) return std::move(read).error();
  return std::optional<NetworkRecord>(std::move(read).value());
}

}  // namespace weft::report
