// SPDX-License-Identifier: Apache-2.0
// Reading network.json: nothing in it is believed.
#include <fmt/format.h>

#include <filesystem>

#include "base/make_error.hpp"
#include "report/files.hpp"
#include "report/network_record.hpp"
#include "report/record_reader.hpp"
#include "report/run_record.hpp"

namespace weft::report {
namespace {

void read_vertex(const RecordReader& in, NetworkVertex& v) {
  std::string kind;
  in.member("kind", kind);
  v.host = kind == "host";
  in.member("name", v.name);
  in.member("level", v.level, 1000);
  in.member("group", v.group);
  const RecordReader::Json* position = in.find("position");
  if (position == nullptr) return;
  if (!position->is_array() || position->size() > 16) {
    return in.fail("position", "is not an array of up to 16 numbers");
  }
  for (const RecordReader::Json& coordinate : *position) {
    if (!coordinate.is_number_unsigned() || coordinate.get<std::uint64_t>() > 1'000'000) {
      return in.fail("position", "holds what is not a number up to 1000000");
    }
    v.position.push_back(coordinate.get<std::uint32_t>());
  }
}

void read_topology(const RecordReader& in, NetworkTopology& t) {
  in.member("name", t.name);
  in.member("shape", t.shape);
  in.member("router", t.router);
  in.needed_rows("vertices", t.vertices, read_vertex);
  if (in.good() && t.vertices.empty()) return in.fail("vertices", "is empty");
  in.needed_rows("links", t.links, [&](const RecordReader& row, NetworkLink& l) {
    row.member("from", l.from, t.vertices.size() - 1);
    row.member("to", l.to, t.vertices.size() - 1);
    row.member("kind", l.kind);
    row.amount("rate_bytes_per_s", l.rate_bytes_per_s);
  });
}

void read_latency(const RecordReader& in, LatencyQuantiles& q) {
  in.needed_part("latency_us", q, [](const RecordReader& of, LatencyQuantiles& out) {
    of.amount("min", out.min);
    of.amount("p10", out.p10);
    of.amount("median", out.median);
    of.amount("p90", out.p90);
    of.amount("p99", out.p99);
    of.amount("max", out.max);
    of.amount("mean", out.mean);
  });
}

void read_messages(const RecordReader& in, MessageFigures& m) {
  in.member("name", m.name);
  in.member("messages", m.messages);
  in.member("bytes", m.bytes);
  read_latency(in, m.latency_us);
  in.needed_rows("buckets", m.buckets, [](const RecordReader& row, LatencyBucket& b) {
    row.amount("from_us", b.from_us);
    row.amount("to_us", b.to_us);
    row.member("count", b.count);
  });
  in.needed_rows("sizes", m.sizes, [](const RecordReader& row, SizeRow& s) {
    row.member("from_bytes", s.from_bytes);
    row.member("messages", s.messages);
    read_latency(row, s.latency_us);
  });
  in.needed_rows("flows", m.flows, [](const RecordReader& row, FlowRow& f) {
    row.member("source", f.source);
    row.member("destination", f.destination);
    row.member("bytes", f.bytes);
    row.amount("start_us", f.start_us);
    row.amount("end_us", f.end_us);
  });
}

void read_run(const RecordReader& in, NetworkRun& r, std::size_t links) {
  in.member("name", r.name);
  in.member("trace_hash", r.trace_hash);
  in.amount("end_us", r.end_us);
  in.amount("step_us", r.step_us);
  in.member("steps", r.steps, 100'000);
  in.needed_rows("links", r.links, [](const RecordReader& row, LinkLoad& l) {
    row.amount("utilisation", l.utilisation);
    row.member("packets", l.packets);
    row.member("bytes", l.bytes);
    row.amount("queue_mean_bytes", l.queue_mean_bytes);
    row.member("queue_peak_bytes", l.queue_peak_bytes);
    row.rows("levels", l.levels, [](const RecordReader& of, LevelLoad& v) {
      of.member("level", v.level, 15);
      of.member("packets", v.packets);
      of.member("bytes", v.bytes);
      of.amount("waited_us", v.waited_us);
    });
  });
  if (in.good() && r.links.size() != links) {
    return in.fail("links",
                   fmt::format("has {} rows; the topology has {} links", r.links.size(), links));
  }
  in.needed_rows("series", r.series, [&](const RecordReader& row, LinkSeries& s) {
    if (links == 0) return row.fail("link", "is of no link");
    row.member("link", s.link, links - 1);
    row.amounts("utilisation", s.utilisation, r.steps);
    row.amounts("queue_bytes", s.queue_bytes, r.steps);
  });
  in.needed_rows("messages", r.messages, read_messages);
}

void read_record(const RecordReader& in, NetworkRecord& record) {
  in.member("version", record.version);
  in.member("command", record.command);
  in.member("seed", record.seed);
  if (in.need("parameters") != nullptr) in.texts("parameters", record.parameters);
  in.needed_part("topology", record.topology, read_topology);
  in.needed_rows("runs", record.runs, [&](const RecordReader& row, NetworkRun& r) {
    read_run(row, r, record.topology.links.size());
  });
  if (in.good() && record.runs.empty()) in.fail("runs", "is empty");
}

std::string network_path(const std::string& dir) {
  return (std::filesystem::path(dir) / "network.json").string();
}

}  // namespace

Result<NetworkRecord> network_from_json(std::string_view text, std::string_view origin) {
  const auto malformed = [&](std::string_view what) {
    return make_error(
        ErrorCode::corrupt,
        "{}: not a record of a simulated network: {}; write it again with weft simulate --out",
        origin, what);
  };
  const auto parsed = RecordReader::Json::parse(text, nullptr, false);
  if (parsed.is_discarded()) return malformed("no valid JSON");
  std::string error;
  NetworkRecord record;
  read_record(RecordReader(parsed, error), record);
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
