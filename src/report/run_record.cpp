// SPDX-License-Identifier: Apache-2.0
#include "report/run_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/check.hpp"
#include "base/quantile.hpp"

namespace weft::report {
namespace {

using Json = nlohmann::ordered_json;

/// Writes the members of one JSON object, with the verbs of JsonReader.
class JsonWriter {
 public:
  void member(const char* name, double value) {
    is_finite_ = is_finite_ && std::isfinite(value);
    object_[name] = number(value);
  }
  void member(const char* name, const std::optional<double>& value) {
    object_[name] = value ? number(*value) : Json(nullptr);
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
  static Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
  template <class T, class Write>
  static JsonWriter written(const T& value, const Write& write) {
    JsonWriter writer;
    write(writer, value);
    return writer;
  }

  Json object_ = Json::object();
  bool is_finite_ = true;
};

/// Reads members of one JSON object and remembers the first thing that is wrong, with its path.
class JsonReader {
 public:
  JsonReader(const Json& object, std::string path, std::string& error)
      : object_(object), path_(std::move(path)), error_(error) {
    if (!object_.is_object()) fail("", "is not an object");
  }

  /// Each `member` reads a required member into `out`. Errors: it is missing or of another type.
  template <std::unsigned_integral T>
  void member(const char* name, T& out) const {
    const Json* j = need(name);
    if (j == nullptr) return;
    if (!j->is_number_unsigned()) return fail(name, "is not a whole number of 0 or more");
    const auto value = j->get<std::uint64_t>();
    if (value > std::numeric_limits<T>::max()) return fail(name, "is too large");
    out = static_cast<T>(value);
  }
  /// Reads null as NaN: a writer has no other form for a figure that is not finite.
  void member(const char* name, double& out) const {
    if (object_.is_object() && object_.contains(name) && object_[name].is_null()) {
      out = std::numeric_limits<double>::quiet_NaN();
    } else if (const Json* j = need(name)) {
      if (!j->is_number()) return fail(name, "is not a number");
      out = j->get<double>();
    }
  }
  void member(const char* name, std::string& out) const {
    const Json* j = need(name);
    if (j != nullptr && !j->is_string()) return fail(name, "is not text");
    if (j != nullptr) out = j->get<std::string>();
  }
  void member(const char* name, bool& out) const {
    const Json* j = need(name);
    if (j != nullptr && !j->is_boolean()) return fail(name, "is not true or false");
    if (j != nullptr) out = j->get<bool>();
  }
  /// A member without a value is missing or null.
  template <class T>
  void member(const char* name, std::optional<T>& out) const {
    if (find(name) != nullptr) member(name, out.emplace());
  }
  /// Reads a member that files of earlier versions do not have.
  template <class T>
  void later(const char* name, T& out) const {
    if (find(name) != nullptr) member(name, out);
  }
  void texts(const char* name, std::vector<std::pair<std::string, std::string>>& out) const {
    const Json* j = find(name);
    if (j == nullptr) return;
    if (!j->is_object()) return fail(name, "is not an object");
    for (const auto& [key, value] : j->items()) {
      if (!value.is_string()) return fail(name, "holds a value that is not text");
      out.emplace_back(key, value.get<std::string>());
    }
  }
  /// Calls read(reader, row) for each element of a member that may be missing.
  template <class Row, class Read>
  void rows(const char* name, std::vector<Row>& out, const Read& read) const {
    const Json* j = find(name);
    if (j == nullptr) return;
    if (!j->is_array()) return fail(name, "is not an array");
    out.reserve(j->size());
    for (std::size_t i = 0; i < j->size() && error_.empty(); ++i) {
      const JsonReader row((*j)[i], fmt::format("{}{}[{}].", path_, name, i), error_);
      read(row, out.emplace_back());
    }
  }
  template <class Row, class Read>
  void samples(const char* name, std::vector<Row>& out, const Read& read) const {
    rows(name, out, read);
  }
  /// Calls read(reader, out) for an object that may be missing.
  template <class T, class Read>
  void part(const char* name, T& out, const Read& read) const {
    const Json* j = find(name);
    if (j == nullptr) return;
    const JsonReader in(*j, fmt::format("{}{}.", path_, name), error_);
    read(in, out);
  }
  template <class T, class Read>
  void part(const char* name, std::optional<T>& out, const Read& read) const {
    if (find(name) != nullptr) part(name, out.emplace(), read);
  }
  /// Returns a member; null, with an error, when it is missing.
  const Json* need(const char* name) const {
    const Json* member = find(name);
    if (member == nullptr) fail(name, "is missing");
    return member;
  }

 private:
  const Json* find(const char* name) const {
    if (!object_.is_object()) return nullptr;
    const auto it = object_.find(name);
    return it == object_.end() || it->is_null() ? nullptr : &*it;
  }
  void fail(std::string_view name, std::string_view what) const {
    if (!error_.empty()) return;
    std::string member = path_ + std::string(name);
    if (name.empty() && !member.empty()) member.pop_back();
    error_ = member.empty() ? fmt::format("it {}", what) : fmt::format("\"{}\" {}", member, what);
  }

  const Json& object_;
  std::string path_;
  std::string& error_;
};

/// The members of each object in their order in the JSON. `v` is a JsonWriter or a JsonReader.
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

void read_run_record(const JsonReader& v, RunRecord& r) {
  members::summary(v, r);
  members::details(v, r);
  v.later("job", r.job);
  v.rows("limit", r.limit, members::limit);
}

std::string dump(const Json& j) {
  return j.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Error malformed(std::string_view origin, std::string_view what) {
  return Error{ErrorCode::corrupt,
               fmt::format("{}: not a record of a run: {}; write it again with weft stream --out",
                           origin, what)};
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
  const JsonReader top(*parsed, "", error);
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
  const JsonReader top(*parsed, "", error);
  if (error.empty()) read_run_record(top, record);
  if (!error.empty()) return malformed(origin, error);
  return record;
}

}  // namespace weft::report
