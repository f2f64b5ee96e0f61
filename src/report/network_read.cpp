// SPDX-License-Identifier: Apache-2.0
// Reading network.json: nothing in it is believed. Rows can be hundreds of thousands: the path to a
// member is composed only for an error there.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "report/files.hpp"
#include "report/network_record.hpp"
#include "report/run_record.hpp"

namespace weft::report {
namespace {

using Json = nlohmann::ordered_json;

/// One value of the text, and how it was come to.
class In {
 public:
  In(const Json& value, std::string& error) : value_(value), error_(error) {}
  In(const Json& value, const In& parent, const char* name, std::size_t index = no_index)
      : value_(value), error_(parent.error_), parent_(&parent), name_(name), index_(index) {}

  bool good() const { return error_.empty(); }
  void fail(const char* name, std::string_view what) const {
    if (!good()) return;
    const std::string at = path() + name;
    error_ = at.empty() ? fmt::format("it {}", what) : fmt::format("\"{}\" {}", at, what);
  }

  template <class T>
  void whole(const char* name, T& out, std::uint64_t most = std::numeric_limits<T>::max()) const {
    const Json* j = need(name);
    if (j == nullptr) return;
    if (!j->is_number_unsigned()) return fail(name, "is not a whole number of 0 or more");
    const auto value = j->get<std::uint64_t>();
    if (value > most) return fail(name, fmt::format("is {}, more than {}", value, most));
    out = static_cast<T>(value);
  }
  void real(const char* name, double& out) const {
    const Json* j = need(name);
    if (j == nullptr) return;
    if (!is_amount(*j)) return fail(name, "is not a number of 0 or more");
    out = j->get<double>();
  }
  void text(const char* name, std::string& out) const {
    const Json* j = need(name);
    if (j == nullptr) return;
    if (!j->is_string()) return fail(name, "is not text");
    out = j->get<std::string>();
  }
  /// Numbers, exactly so many.
  void reals(const char* name, std::vector<double>& out, std::size_t count) const {
    const Json* j = need(name);
    if (j == nullptr) return;
    if (!j->is_array() || j->size() != count) {
      return fail(name, fmt::format("is not an array of {} numbers", count));
    }
    out.reserve(count);
    for (const Json& value : *j) {
      if (!is_amount(value)) return fail(name, "holds what is not a number of 0 or more");
      out.push_back(value.get<double>());
    }
  }
  /// Calls read(In, row) for each element.
  template <class Row, class Read>
  void rows(const char* name, std::vector<Row>& out, Read read) const {
    const Json* j = need(name);
    if (j == nullptr) return;
    if (!j->is_array()) return fail(name, "is not an array");
    out.reserve(j->size());
    for (std::size_t i = 0; i < j->size() && good(); ++i) {
      read(In((*j)[i], *this, name, i), out.emplace_back());
    }
  }
  template <class Read>
  void object(const char* name, Read read) const {
    if (const Json* j = need(name)) read(In(*j, *this, name));
  }
  const Json* find(const char* name) const {
    if (!value_.is_object()) return nullptr;
    const auto it = value_.find(name);
    return it == value_.end() ? nullptr : &*it;
  }
  const Json& value() const { return value_; }

 private:
  static constexpr std::size_t no_index = ~std::size_t{0};

  static bool is_amount(const Json& j) {
    return j.is_number() && std::isfinite(j.get<double>()) && j.get<double>() >= 0;
  }
  const Json* need(const char* name) const {
    if (!good()) return nullptr;
    if (!value_.is_object()) {
      fail("", "is not an object");
      return nullptr;
    }
    const Json* j = find(name);
    if (j == nullptr) fail(name, "is missing");
    return j;
  }
  std::string path() const {
    if (parent_ == nullptr) return {};
    const std::string index = index_ == no_index ? std::string() : fmt::format("[{}]", index_);
    return fmt::format("{}{}{}.", parent_->path(), name_, index);
  }

  const Json& value_;
  std::string& error_;
  const In* parent_ = nullptr;
  const char* name_ = "";
  std::size_t index_ = no_index;
};

void read_vertex(const In& in, NetworkVertex& v) {
  std::string kind;
  in.text("kind", kind);
  v.host = kind == "host";
  in.text("name", v.name);
  in.whole("level", v.level, 1000);
  if (in.find("group") != nullptr) in.whole("group", v.group.emplace());
  const Json* position = in.find("position");
  if (position == nullptr) return;
  if (!position->is_array() || position->size() > 16) {
    return in.fail("position", "is not an array of up to 16 numbers");
  }
  for (const Json& coordinate : *position) {
    if (!coordinate.is_number_unsigned() || coordinate.get<std::uint64_t>() > 1'000'000) {
      return in.fail("position", "holds what is not a number up to 1000000");
    }
    v.position.push_back(coordinate.get<std::uint32_t>());
  }
}

void read_topology(const In& in, NetworkTopology& t) {
  in.text("name", t.name);
  in.text("shape", t.shape);
  in.text("router", t.router);
  in.rows("vertices", t.vertices, read_vertex);
  if (in.good() && t.vertices.empty()) return in.fail("vertices", "is empty");
  in.rows("links", t.links, [&](const In& row, NetworkLink& l) {
    row.whole("from", l.from, t.vertices.size() - 1);
    row.whole("to", l.to, t.vertices.size() - 1);
    row.text("kind", l.kind);
    row.real("rate_bytes_per_s", l.rate_bytes_per_s);
  });
}

void read_latency(const In& in, LatencyQuantiles& q) {
  in.object("latency_us", [&](const In& of) {
    of.real("min", q.min);
    of.real("p10", q.p10);
    of.real("median", q.median);
    of.real("p90", q.p90);
    of.real("p99", q.p99);
    of.real("max", q.max);
    of.real("mean", q.mean);
  });
}

void read_messages(const In& in, MessageFigures& m) {
  in.text("name", m.name);
  in.whole("messages", m.messages);
  in.whole("bytes", m.bytes);
  read_latency(in, m.latency_us);
  in.rows("buckets", m.buckets, [](const In& row, LatencyBucket& b) {
    row.real("from_us", b.from_us);
    row.real("to_us", b.to_us);
    row.whole("count", b.count);
  });
  in.rows("sizes", m.sizes, [](const In& row, SizeRow& s) {
    row.whole("from_bytes", s.from_bytes);
    row.whole("messages", s.messages);
    read_latency(row, s.latency_us);
  });
  in.rows("flows", m.flows, [](const In& row, FlowRow& f) {
    row.whole("source", f.source);
    row.whole("destination", f.destination);
    row.whole("bytes", f.bytes);
    row.real("start_us", f.start_us);
    row.real("end_us", f.end_us);
  });
}

void read_run(const In& in, NetworkRun& r, std::size_t links) {
  in.text("name", r.name);
  in.text("trace_hash", r.trace_hash);
  in.real("end_us", r.end_us);
  in.real("step_us", r.step_us);
  in.whole("steps", r.steps, 100'000);
  in.rows("links", r.links, [](const In& row, LinkLoad& l) {
    row.real("utilisation", l.utilisation);
    row.whole("packets", l.packets);
    row.whole("bytes", l.bytes);
    row.real("queue_mean_bytes", l.queue_mean_bytes);
    row.whole("queue_peak_bytes", l.queue_peak_bytes);
    if (row.find("levels") == nullptr) return;
    row.rows("levels", l.levels, [](const In& of, LevelLoad& v) {
      of.whole("level", v.level, 15);
      of.whole("packets", v.packets);
      of.whole("bytes", v.bytes);
      of.real("waited_us", v.waited_us);
    });
  });
  if (in.good() && r.links.size() != links) {
    return in.fail("links",
                   fmt::format("has {} rows; the topology has {} links", r.links.size(), links));
  }
  in.rows("series", r.series, [&](const In& row, LinkSeries& s) {
    if (links == 0) return row.fail("link", "is of no link");
    row.whole("link", s.link, links - 1);
    row.reals("utilisation", s.utilisation, r.steps);
    row.reals("queue_bytes", s.queue_bytes, r.steps);
  });
  in.rows("messages", r.messages, read_messages);
}

void read_record(const In& in, NetworkRecord& record) {
  in.text("version", record.version);
  in.text("command", record.command);
  in.whole("seed", record.seed);
  in.object("parameters", [&](const In& of) {
    if (!of.value().is_object()) return of.fail("", "is not an object");
    for (const auto& [name, value] : of.value().items()) {
      if (!value.is_string()) return of.fail(name.c_str(), "is not text");
      record.parameters.emplace_back(name, value.get<std::string>());
    }
  });
  in.object("topology", [&](const In& of) { read_topology(of, record.topology); });
  in.rows("runs", record.runs,
          [&](const In& row, NetworkRun& r) { read_run(row, r, record.topology.links.size()); });
  if (in.good() && record.runs.empty()) in.fail("runs", "is empty");
}

std::string network_path(const std::string& dir) {
  return (std::filesystem::path(dir) / "network.json").string();
}

}  // namespace

Result<NetworkRecord> network_from_json(std::string_view text, std::string_view origin) {
  const auto malformed = [&](std::string_view what) {
    return Error{ErrorCode::corrupt,
                 fmt::format("{}: not a record of a simulated network: {}; write it again with "
                             "weft simulate --out",
                             origin, what)};
  };
  const Json parsed = Json::parse(text, nullptr, false);
  if (parsed.is_discarded()) return malformed("no valid JSON");
  std::string error;
  NetworkRecord record;
  read_record(In(parsed, error), record);
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
