// SPDX-License-Identifier: Apache-2.0
#include "report/run_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/check.hpp"
#include "base/make_error.hpp"
#include "base/quantile.hpp"
#include "report/record_reader.hpp"

namespace weft::report {
namespace {

using Json = nlohmann::ordered_json;

/// Writes the members of one JSON object, with the verbs of RecordReader.
class JsonWriter {
 public:
  /// A figure that is not finite becomes null.
  void member(const char* name, double value) {
    is_finite_ = is_finite_ && std::isfinite(value);
    object_[name] = value;
  }
  template <class T>
  void member(const char* name, const std::optional<T>& value) {
    object_[name] = value ? Json(*value) : Json(nullptr);
  }
  template <class T>
  void member(const char* name, const T& value) {
    object_[name] = value;
  }
  template <class T>
  void later(const char* name, const T& value) {
    member(name, value);
  }
  void texts(const char* name, const std::vector<std::pair<std::string, std::string>>& texts) {
    Json& object = object_[name] = Json::object();
    for (const auto& [key, value] : texts) object[key] = value;
  }
  template <class Row, class Write>
  void rows(const char* name, const std::vector<Row>& rows, const Write& write) {
    Json array = Json::array();
    for (const Row& row : rows) array.push_back(written(row, write).object_);
    object_[name] = std::move(array);
  }
  /// Leaves out the rows with a figure that is not finite: there is nothing to draw for them.
  template <class Row, class Write>
  void samples(const char* name, const std::vector<Row>& rows, const Write& write) {
    Json array = Json::array();
    for (const Row& row : rows) {
      JsonWriter writer = written(row, write);
      if (writer.is_finite_) array.push_back(std::move(writer.object_));
    }
    object_[name] = std::move(array);
  }
  template <class T, class Write>
  void part(const char* name, const T& value, const Write& write) {
    object_[name] = written(value, write).object_;
  }
  template <class T, class Write>
  void part(const char* name, const std::optional<T>& value, const Write& write) {
    object_[name] = value ? written(*value, write).object_ : Json(nullptr);
  }
  const Json& object() const { return object_; }

 private:
  template <class T, class Write>
  static JsonWriter written(const T& value, const Write& write) {
    JsonWriter writer;
    write(writer, value);
    return writer;
  }

  Json object_ = Json::object();
  bool is_finite_ = true;
};

/// The members of each object in their order in the JSON. `v` is a JsonWriter or a RecordReader.
namespace members {

constexpr auto quantiles = [](auto& v, auto& q) {
  v.member("min", q.min);
  v.member("p10", q.p10);
  v.member("median", q.median);
  v.member("p90", q.p90);
  v.member("max", q.max);
};

constexpr auto interval = [](auto& v, auto& row) {
  v.member("id", row.id);
  v.member("start_us", row.start_us);
  v.member("proposed_us", row.proposed_us);
  v.member("actual_us", row.actual_us);
};

constexpr auto checks = [](auto& v, auto& c) {
  v.member("errors", c.errors);
  v.member("first_error", c.first_error);
  v.member("dropped", c.dropped);
  v.member("repeated", c.repeated);
  v.member("late", c.late);
};

constexpr auto machine = [](auto& v, auto& m) {
  v.member("host", m.host);
  v.member("cpus", m.cpus);
  v.member("model", m.model);
  v.member("kernel", m.kernel);
  v.member("memory_bytes", m.memory_bytes);
};

constexpr auto series = [](auto& v, auto& s) {
  v.samples("timeslices", s.timeslices, [](auto& w, auto& row) {
    w.member("t_us", row.t_us);
    w.member("index", row.index);
    w.member("compute", row.compute);
    w.member("spread_us", row.spread_us);
  });
  v.samples("goodput", s.goodput, [](auto& w, auto& row) {
    w.member("t_us", row.t_us);
    w.member("bytes_per_s", row.bytes_per_s);
  });
  v.samples("buffer_fill", s.buffer_fill, [](auto& w, auto& row) {
    w.member("t_us", row.t_us);
    w.member("compute", row.compute);
    w.member("input", row.input);
    w.member("fill", row.fill);
  });
};

constexpr auto published = [](auto& v, auto& figure) {
  v.member("metric", figure.metric);
  v.member("bound", figure.bound);
  v.member("value", figure.value);
  v.member("source", figure.source);
  v.member("ours", figure.ours);
};

constexpr auto limit = [](auto& v, auto& row) {
  v.member("message_bytes", row.message_bytes);
  v.member("mix", row.mix);
  v.member("round_us", row.round_us);
  v.member("bandwidth_per_sender_bytes_per_s", row.bandwidth_per_sender_bytes_per_s);
  v.member("aggregate_bytes_per_s", row.aggregate_bytes_per_s);
  v.member("limit_bytes_per_s", row.limit_bytes_per_s);
};

constexpr auto summary = [](auto& v, auto& r) {
  v.member("schedule", r.schedule);
  v.member("fabric", r.fabric);
  v.member("inputs", r.inputs);
  v.member("computes", r.computes);
  v.member("timeslices_sent", r.timeslices_sent);
  v.member("timeslices_complete", r.timeslices_complete);
  v.member("timeslices_incomplete", r.timeslices_incomplete);
  v.member("timeslices_lost", r.timeslices_lost);
  v.member("bytes", r.bytes);
  v.member("seconds", r.seconds);
  v.member("goodput_bytes_per_s", r.goodput_bytes_per_s);
  v.member("limit_bytes_per_s", r.limit_bytes_per_s);
  v.member("goodput_of_limit", r.goodput_of_limit);
  v.part("spread_us", r.spread_us, quantiles);
  v.member("spread_floor_us", r.spread_floor_us);
  v.part("buffer_fill", r.buffer_fill, quantiles);
  v.member("credit_waits", r.credit_waits);
  v.member("quorum_wait_s", r.quorum_wait_s);
  v.samples("intervals", r.intervals, interval);
  v.member("seed", r.seed);
  v.member("version", r.version);
  v.part("checks", r.checks, checks);
  v.later("interrupted", r.interrupted);
  v.rows("published", r.published, published);
};

/// The members of files only.
constexpr auto details = [](auto& v, auto& r) {
  v.texts("parameters", r.parameters);
  v.part("machine", r.machine, machine);
  v.later("command", r.command);
  v.part("series", r.series, series);
  v.samples("faults", r.faults, [](auto& w, auto& mark) {
    w.member("t_us", mark.t_us);
    w.member("what", mark.what);
  });
  v.rows("by_compute", r.by_compute, [](auto& w, auto& row) {
    w.member("compute", row.compute);
    w.member("timeslices", row.timeslices);
    w.member("repeated", row.repeated);
    w.member("reported", row.reported);
  });
};

}  // namespace members

void write_details(JsonWriter& v, const RunRecord& r) {
  members::details(v, r);
  if (!r.job.empty()) v.member("job", r.job);
  v.rows("limit", r.limit, members::limit);
}

void read_run_record(const RecordReader& v, RunRecord& r) {
  members::summary(v, r);
  members::details(v, r);
  v.later("job", r.job);
  v.rows("limit", r.limit, members::limit);
}

std::string dump(const Json& j) {
  return j.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Error malformed(std::string_view origin, std::string_view what) {
  return corrupt("{}: not a record of a run: {}; write it again with weft stream --out", origin,
                 what);
}

Result<Json> parse(std::string_view text, std::string_view origin) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& e) {
    return malformed(origin, fmt::format("no valid JSON at byte {}", e.byte));
  } catch (const Json::exception&) {
    return malformed(origin, "no valid JSON");
  }
}

}  // namespace

std::optional<Quantiles> quantiles_of(std::vector<double> samples) {
  if (samples.empty()) return std::nullopt;
  for (const double s : samples) WEFT_CHECK(std::isfinite(s));
  std::sort(samples.begin(), samples.end());
  return Quantiles{samples.front(), quantile(samples, 0.1), quantile(samples, 0.5),
                   quantile(samples, 0.9), samples.back()};
}

std::string to_json(const RunRecord& record, RecordForm form) {
  JsonWriter writer;
  members::summary(writer, record);
  if (form == RecordForm::full) write_details(writer, record);
  return dump(writer.object());
}

std::string json_text_array(std::span<const std::string> texts) {
  Json array = Json::array();
  for (const std::string& text : texts) array.push_back(text);
  return dump(array);
}

Result<std::vector<RunRecord>> runs_from_json(std::string_view text, std::string_view origin) {
  Result<Json> parsed = parse(text, origin);
  if (!parsed) return parsed.error();
  std::string error;
  std::vector<RunRecord> runs;
  const RecordReader top(*parsed, error);
  if (error.empty() && top.need("runs") != nullptr) top.rows("runs", runs, read_run_record);
  if (error.empty() && runs.empty()) error = "\"runs\" is empty";
  if (!error.empty()) return malformed(origin, error);
  return runs;
}

Result<RunRecord> from_json(std::string_view text, std::string_view origin) {
  Result<Json> parsed = parse(text, origin);
  if (!parsed) return parsed.error();
  std::string error;
  RunRecord record;
  const RecordReader top(*parsed, error);
  if (error.empty()) read_run_record(top, record);
  if (!error.empty()) return malformed(origin, error);
  return record;
}

}  // namespace weft::report
