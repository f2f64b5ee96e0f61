// SPDX-License-Identifier: Apache-2.0
#include "report/run_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/check.hpp"

namespace weft::report {
namespace {

using Json = nlohmann::ordered_json;

double interpolate(const std::vector<double>& sorted, double fraction) {
  const double position = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (position - std::floor(position));
}

Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

template <class T>
Json optional_number(const std::optional<T>& value) {
  if (!value.has_value()) return nullptr;
  if constexpr (std::is_same_v<T, double>) return number(*value);
  return *value;
}

Json optional_quantiles(const std::optional<Quantiles>& q) {
  if (!q.has_value()) return nullptr;
  return Json{{"min", number(q->min)},
              {"p10", number(q->p10)},
              {"median", number(q->median)},
              {"p90", number(q->p90)},
              {"max", number(q->max)}};
}

template <class Row, class Write>
Json array_of(const std::vector<Row>& rows, Write write) {
  Json array = Json::array();
  for (const Row& row : rows) array.push_back(write(row));
  return array;
}

/// As array_of, without the rows whose `value` is not finite: there is nothing to draw for them.
template <class Row, class Value, class Write>
Json finite_array_of(const std::vector<Row>& rows, Value value, Write write) {
  Json array = Json::array();
  for (const Row& row : rows) {
    if (std::isfinite(value(row))) array.push_back(write(row));
  }
  return array;
}

Json write_interval(const IntervalRow& row) {
  return Json{{"id", row.id},
              {"start_us", number(row.start_us)},
              {"proposed_us", optional_number(row.proposed_us)},
              {"actual_us", number(row.actual_us)}};
}

Json write_series(const Series& series) {
  Json timeslices = finite_array_of(
      series.timeslices, [](const TimesliceSample& s) { return s.t_us + s.spread_us; },
      [](const TimesliceSample& s) {
        return Json{{"t_us", s.t_us},
                    {"index", s.index},
                    {"compute", s.compute},
                    {"spread_us", s.spread_us}};
      });
  Json goodput = finite_array_of(
      series.goodput, [](const GoodputSample& s) { return s.t_us + s.bytes_per_s; },
      [](const GoodputSample& s) {
        return Json{{"t_us", s.t_us}, {"bytes_per_s", s.bytes_per_s}};
      });
  Json fill = finite_array_of(
      series.buffer_fill, [](const FillSample& s) { return s.t_us + s.fill; },
      [](const FillSample& s) {
        return Json{{"t_us", s.t_us},
                    {"compute", s.compute},
                    {"input", optional_number(s.input)},
                    {"fill", s.fill}};
      });
  return Json{{"timeslices", std::move(timeslices)},
              {"goodput", std::move(goodput)},
              {"buffer_fill", std::move(fill)}};
}

Json write_published(const PublishedFigure& figure) {
  return Json{{"metric", figure.metric},
              {"bound", figure.bound},
              {"value", number(figure.value)},
              {"source", figure.source},
              {"ours", optional_number(figure.ours)}};
}

Json write_limit(const LimitRow& row) {
  return Json{{"message_bytes", row.message_bytes},
              {"mix", row.mix},
              {"round_us", number(row.round_us)},
              {"bandwidth_per_sender_bytes_per_s", number(row.bandwidth_per_sender_bytes_per_s)},
              {"aggregate_bytes_per_s", number(row.aggregate_bytes_per_s)},
              {"limit_bytes_per_s", optional_number(row.limit_bytes_per_s)}};
}

Json write_summary(const RunRecord& r) {
  Json j = Json::object();
  j["schedule"] = r.schedule;
  j["fabric"] = r.fabric;
  j["inputs"] = r.inputs;
  j["computes"] = r.computes;
  j["timeslices_sent"] = r.timeslices_sent;
  j["timeslices_complete"] = r.timeslices_complete;
  j["timeslices_incomplete"] = r.timeslices_incomplete;
  j["timeslices_lost"] = r.timeslices_lost;
  j["bytes"] = r.bytes;
  j["seconds"] = number(r.seconds);
  j["goodput_bytes_per_s"] = number(r.goodput_bytes_per_s);
  j["limit_bytes_per_s"] = optional_number(r.limit_bytes_per_s);
  j["goodput_of_limit"] = optional_number(r.goodput_of_limit);
  j["spread_us"] = optional_quantiles(r.spread_us);
  j["spread_floor_us"] = optional_number(r.spread_floor_us);
  j["buffer_fill"] = optional_quantiles(r.buffer_fill);
  j["credit_waits"] = r.credit_waits;
  j["quorum_wait_s"] = number(r.quorum_wait_s);
  j["intervals"] = finite_array_of(
      r.intervals, [](const IntervalRow& row) { return row.start_us + row.actual_us; },
      write_interval);
  j["seed"] = r.seed;
  j["version"] = r.version;
  j["checks"] = Json{{"errors", r.checks.errors},
                     {"first_error", r.checks.first_error},
                     {"dropped", r.checks.dropped},
                     {"repeated", r.checks.repeated},
                     {"late", r.checks.late}};
  j["interrupted"] = r.interrupted;
  j["published"] = array_of(r.published, write_published);
  return j;
}

Json write_full(const RunRecord& r) {
  Json j = write_summary(r);
  Json parameters = Json::object();
  for (const auto& [name, value] : r.parameters) parameters[name] = value;
  j["parameters"] = std::move(parameters);
  j["machine"] = Json{{"host", r.machine.host},
                      {"cpus", r.machine.cpus},
                      {"model", r.machine.model},
                      {"kernel", r.machine.kernel},
                      {"memory_bytes", r.machine.memory_bytes}};
  j["command"] = r.command;
  j["series"] = write_series(r.series);
  j["faults"] = finite_array_of(
      r.faults, [](const FaultMark& mark) { return mark.t_us; },
      [](const FaultMark& mark) {
        return Json{{"t_us", mark.t_us}, {"what", mark.what}};
      });
  j["by_compute"] = array_of(r.by_compute, [](const ComputeRow& row) {
    return Json{{"compute", row.compute},
                {"timeslices", row.timeslices},
                {"repeated", row.repeated},
                {"reported", row.reported}};
  });
  if (!r.job.empty()) j["job"] = r.job;
  j["limit"] = array_of(r.limit, write_limit);
  return j;
}

std::string dump(const Json& j) {
  return j.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Reads members of one JSON object and remembers the first thing that is wrong, with its path.
class Reader {
 public:
  Reader(const Json& object, std::string path, std::string& error)
      : object_(object), path_(std::move(path)), error_(error) {
    if (!object_.is_object()) fail("", "is not an object");
  }

  const Json* find(const char* name) const {
    if (!object_.is_object()) return nullptr;
    const auto it = object_.find(name);
    return it == object_.end() || it->is_null() ? nullptr : &*it;
  }
  /// As find, but a missing member is an error.
  const Json* need(const char* name) const {
    const Json* member = find(name);
    if (member == nullptr) fail(name, "is missing");
    return member;
  }

  template <class T>
  void integer(const char* name, T& out) const {
    if (const Json* j = need(name)) read_integer(name, *j, out);
  }
  /// A figure that was not finite is written as null.
  void real(const char* name, double& out) const {
    if (object_.is_object() && object_.contains(name) && object_[name].is_null()) {
      out = std::numeric_limits<double>::quiet_NaN();
    } else if (const Json* j = need(name)) {
      read_real(name, *j, out);
    }
  }
  void real(const char* name, std::optional<double>& out) const {
    if (const Json* j = find(name)) read_real(name, *j, out.emplace());
  }
  void text(const char* name, std::string& out) const {
    if (const Json* j = need(name)) read_text(name, *j, out);
  }
  void boolean(const char* name, bool& out) const {
    const Json* j = need(name);
    if (j != nullptr && !j->is_boolean()) return fail(name, "is not true or false");
    if (j != nullptr) out = j->get<bool>();
  }
  void optional_integer(const char* name, std::optional<std::uint32_t>& out) const {
    if (const Json* j = find(name)) read_integer(name, *j, out.emplace());
  }
  void optional_quantiles(const char* name, std::optional<Quantiles>& out) const {
    const Json* j = find(name);
    if (j == nullptr) return;
    const Reader r = child(name, *j);
    Quantiles& q = out.emplace();
    r.real("min", q.min);
    r.real("p10", q.p10);
    r.real("median", q.median);
    r.real("p90", q.p90);
    r.real("max", q.max);
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
  /// Calls read(Reader, row) for each element of a member that may be missing.
  template <class Row, class Read>
  void rows(const char* name, std::vector<Row>& out, Read read) const {
    const Json* j = find(name);
    if (j == nullptr) return;
    if (!j->is_array()) return fail(name, "is not an array");
    out.reserve(j->size());
    for (std::size_t i = 0; i < j->size() && error_.empty(); ++i) {
      read(child(fmt::format("{}[{}]", name, i), (*j)[i]), out.emplace_back());
    }
  }
  Reader child(const std::string& name, const Json& j) const {
    return Reader(j, path_ + name + ".", error_);
  }

 private:
  void fail(std::string_view name, std::string_view what) const {
    if (!error_.empty()) return;
    std::string member = path_ + std::string(name);
    if (name.empty() && !member.empty()) member.pop_back();
    error_ = member.empty() ? fmt::format("it {}", what) : fmt::format("\"{}\" {}", member, what);
  }
  template <class T>
  void read_integer(const char* name, const Json& j, T& out) const {
    if (!j.is_number_unsigned()) return fail(name, "is not a whole number of 0 or more");
    const auto value = j.get<std::uint64_t>();
    if (value > std::numeric_limits<T>::max()) return fail(name, "is too large");
    out = static_cast<T>(value);
  }
  void read_real(const char* name, const Json& j, double& out) const {
    if (!j.is_number()) return fail(name, "is not a number");
    out = j.get<double>();
  }
  void read_text(const char* name, const Json& j, std::string& out) const {
    if (!j.is_string()) return fail(name, "is not text");
    out = j.get<std::string>();
  }

  const Json& object_;
  std::string path_;
  std::string& error_;
};

void read_figures(const Reader& in, RunRecord& r) {
  in.text("schedule", r.schedule);
  in.text("fabric", r.fabric);
  in.integer("inputs", r.inputs);
  in.integer("computes", r.computes);
  in.integer("timeslices_sent", r.timeslices_sent);
  in.integer("timeslices_complete", r.timeslices_complete);
  in.integer("timeslices_incomplete", r.timeslices_incomplete);
  in.integer("timeslices_lost", r.timeslices_lost);
  in.integer("bytes", r.bytes);
  in.real("seconds", r.seconds);
  in.real("goodput_bytes_per_s", r.goodput_bytes_per_s);
  in.real("limit_bytes_per_s", r.limit_bytes_per_s);
  in.real("goodput_of_limit", r.goodput_of_limit);
  in.optional_quantiles("spread_us", r.spread_us);
  in.real("spread_floor_us", r.spread_floor_us);
  in.optional_quantiles("buffer_fill", r.buffer_fill);
  in.integer("credit_waits", r.credit_waits);
  in.real("quorum_wait_s", r.quorum_wait_s);
  in.integer("seed", r.seed);
  in.text("version", r.version);
}

void read_checks(const Reader& in, Checks& checks) {
  in.integer("errors", checks.errors);
  in.text("first_error", checks.first_error);
  in.integer("dropped", checks.dropped);
  in.integer("repeated", checks.repeated);
  in.integer("late", checks.late);
}

void read_machine(const Reader& in, Machine& machine) {
  in.text("host", machine.host);
  in.integer("cpus", machine.cpus);
  in.text("model", machine.model);
  in.text("kernel", machine.kernel);
  in.integer("memory_bytes", machine.memory_bytes);
}

void read_series(const Reader& in, Series& series) {
  in.rows("timeslices", series.timeslices, [](const Reader& row, TimesliceSample& s) {
    row.real("t_us", s.t_us);
    row.integer("index", s.index);
    row.integer("compute", s.compute);
    row.real("spread_us", s.spread_us);
  });
  in.rows("goodput", series.goodput, [](const Reader& row, GoodputSample& s) {
    row.real("t_us", s.t_us);
    row.real("bytes_per_s", s.bytes_per_s);
  });
  in.rows("buffer_fill", series.buffer_fill, [](const Reader& row, FillSample& s) {
    row.real("t_us", s.t_us);
    row.integer("compute", s.compute);
    row.optional_integer("input", s.input);
    row.real("fill", s.fill);
  });
}

void read_run_record(const Reader& in, RunRecord& r) {
  read_figures(in, r);
  in.rows("intervals", r.intervals, [](const Reader& row, IntervalRow& i) {
    row.integer("id", i.id);
    row.real("start_us", i.start_us);
    row.real("proposed_us", i.proposed_us);
    row.real("actual_us", i.actual_us);
  });
  if (const Json* j = in.find("checks")) read_checks(in.child("checks", *j), r.checks);
  in.rows("published", r.published, [](const Reader& row, PublishedFigure& f) {
    row.text("metric", f.metric);
    row.text("bound", f.bound);
    row.real("value", f.value);
    row.text("source", f.source);
    row.real("ours", f.ours);
  });
  in.texts("parameters", r.parameters);
  if (const Json* j = in.find("machine")) read_machine(in.child("machine", *j), r.machine);
  if (in.find("command") != nullptr) in.text("command", r.command);
  if (const Json* j = in.find("series")) read_series(in.child("series", *j), r.series);
  if (in.find("interrupted") != nullptr) in.boolean("interrupted", r.interrupted);
  in.rows("faults", r.faults, [](const Reader& row, FaultMark& mark) {
    row.real("t_us", mark.t_us);
    row.text("what", mark.what);
  });
  in.rows("by_compute", r.by_compute, [](const Reader& row, ComputeRow& c) {
    row.integer("compute", c.compute);
    row.integer("timeslices", c.timeslices);
    row.integer("repeated", c.repeated);
    row.boolean("reported", c.reported);
  });
  if (in.find("job") != nullptr) in.text("job", r.job);
  in.rows("limit", r.limit, [](const Reader& row, LimitRow& l) {
    row.integer("message_bytes", l.message_bytes);
    row.boolean("mix", l.mix);
    row.real("round_us", l.round_us);
    row.real("bandwidth_per_sender_bytes_per_s", l.bandwidth_per_sender_bytes_per_s);
    row.real("aggregate_bytes_per_s", l.aggregate_bytes_per_s);
    row.real("limit_bytes_per_s", l.limit_bytes_per_s);
  });
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
  return Quantiles{samples.front(), interpolate(samples, 0.1), interpolate(samples, 0.5),
                   interpolate(samples, 0.9), samples.back()};
}

std::string to_json(const RunRecord& record, RecordForm form) {
  return dump(form == RecordForm::summary ? write_summary(record) : write_full(record));
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
  const Reader top(*parsed, "", error);
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
  const Reader top(*parsed, "", error);
  if (error.empty()) read_run_record(top, record);
  if (!error.empty()) return malformed(origin, error);
  return record;
}

}  // namespace weft::report
