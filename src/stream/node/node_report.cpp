// SPDX-License-Identifier: Apache-2.0
#include "stream/node/node_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace weft::stream {
namespace {

using nlohmann::json;

json to_json(const SinkSummary& s) {
  return json::array({s.timeslices, s.bytes, s.dropped, s.errors, s.first_error});
}

json to_json(const TimesliceRun& run) {
  return json::array({run.first.value(), run.stride, run.count});
}

TimesliceRun run_from(const json& j) {
  return {.first = TimesliceIndex(j.at(0).get<std::uint64_t>()),
          .stride = std::max<std::uint64_t>(1, j.at(1).get<std::uint64_t>()),
          .count = j.at(2)};
}

SinkSummary sink_from(const json& j) {
  SinkSummary s;
  s.timeslices = j.at(0);
  s.bytes = j.at(1);
  s.dropped = j.at(2);
  s.errors = j.at(3);
  s.first_error = j.at(4);
  return s;
}

}  // namespace

std::string encode_report(const NodeReport& r) {
  json j;
  j["node"] = r.node.value();
  j["error"] = r.error;
  j["anew"] = r.began_anew;
  j["time"] = {r.started.ticks(), r.ended.ticks(), r.bucket_ns};
  j["input"] = {r.sent_below, r.sent_bytes, r.credit_waits, r.repeated_contributions,
                r.waited_for_majority.ticks()};
  j["compute"] = {r.complete, r.incomplete, r.late, r.repeated, r.bytes, r.restarted};
  j["sink"] = to_json(r.sink);
  j["spreads"] = r.spreads_us;
  auto& delivered = j["delivered"] = json::array();
  for (const auto& run : r.delivered.runs()) delivered.push_back(to_json(run));
  auto& built_by = j["built_by"] = json::array();
  for (const auto& b : r.built_by) built_by.push_back({b.compute, to_json(b.run)});
  j["buckets"] = r.bytes_buckets;
  auto& intervals = j["intervals"] = json::array();
  for (const auto& i : r.intervals) {
    intervals.push_back({i.id.value(), i.start.ticks(), i.proposed.ticks(), i.actual.ticks()});
  }
  auto& built = j["built"] = json::array();
  for (const auto& b : r.built) built.push_back({b.at, b.index, b.spread_us});
  auto& fills = j["fills"] = json::array();
  for (const auto& f : r.fills) fills.push_back({f.at, f.input, f.fill});
  const std::vector<std::uint8_t> bytes = json::to_cbor(j);
  return std::string(bytes.begin(), bytes.end());
}

Result<NodeReport> decode_report(std::string_view bytes) {
  NodeReport r;
  try {
    const json j = json::from_cbor(bytes.begin(), bytes.end());
    r.node = NodeId(j.at("node").get<std::uint32_t>());
    r.error = j.at("error");
    r.began_anew = j.at("anew");
    r.started = Instant(j.at("time").at(0).get<std::int64_t>());
    r.ended = Instant(j.at("time").at(1).get<std::int64_t>());
    r.bucket_ns = j.at("time").at(2);
    r.sent_below = j.at("input").at(0);
    r.sent_bytes = j.at("input").at(1);
    r.credit_waits = j.at("input").at(2);
    r.repeated_contributions = j.at("input").at(3);
    r.waited_for_majority = Duration(j.at("input").at(4).get<std::int64_t>());
    const auto& compute = j.at("compute");
    r.complete = compute.at(0);
    r.incomplete = compute.at(1);
    r.late = compute.at(2);
    r.repeated = compute.at(3);
    r.bytes = compute.at(4);
    r.restarted = compute.at(5);
    r.sink = sink_from(j.at("sink"));
    for (const auto& run : j.at("delivered")) r.delivered.add(run_from(run));
    for (const auto& b : j.at("built_by")) r.built_by.push_back({b.at(0), run_from(b.at(1))});
    r.spreads_us = j.at("spreads").get<std::vector<double>>();
    r.bytes_buckets = j.at("buckets").get<std::vector<std::uint64_t>>();
    for (const auto& i : j.at("intervals")) {
      r.intervals.push_back({.id = IntervalId(i.at(0).get<std::uint64_t>()),
                             .start = Instant(i.at(1).get<std::int64_t>()),
                             .proposed = Duration(i.at(2).get<std::int64_t>()),
                             .actual = Duration(i.at(3).get<std::int64_t>())});
    }
    for (const auto& b : j.at("built")) r.built.push_back({b.at(0), b.at(1), b.at(2)});
    for (const auto& f : j.at("fills")) r.fills.push_back({f.at(0), f.at(1), f.at(2)});
  } catch (const json::exception&) {
    return Error{ErrorCode::corrupt, "a node sent a report that cannot be read"};
  }
  return r;
}

namespace {

struct Span {
  Instant start = Instant::never();
  Instant end{};
};

Span span_of(const std::vector<NodeReport>& reports) {
  Span span;
  for (const auto& r : reports) {
    span.start = std::min(span.start, r.started);
    span.end = std::max(span.end, r.ended);
  }
  // Nothing was built, or nobody saw a view.
  if (span.start == Instant::never()) span.start = span.end;
  span.end = std::max(span.start, span.end);
  return span;
}

double us_since(Instant start, std::int64_t at) {
  return Duration(at - start.ticks()).to_microseconds();
}

void add_series(const NodeReport& r, const Roster& roster, Instant start,
                std::vector<report::TimesliceSample>& timeslices,
                std::vector<report::FillSample>& fills) {
  const std::uint32_t compute = roster.compute_index(r.node);
  for (const auto& b : r.built) {
    timeslices.push_back({us_since(start, b.at), b.index, compute, b.spread_us});
  }
  for (const auto& f : r.fills) {
    fills.push_back({us_since(start, f.at), compute, f.input, f.fill});
  }
}

template <class T>
std::vector<T> decimated(std::vector<T> all) {
  std::sort(all.begin(), all.end(), [](const T& a, const T& b) { return a.t_us < b.t_us; });
  report::Decimated<T> kept;
  for (const T& value : all) kept.add(value);
  return kept.take();
}

std::vector<report::GoodputSample> goodput_series(const std::vector<NodeReport>& reports,
                                                  Instant start) {
  std::vector<report::GoodputSample> series;
  std::vector<std::uint64_t> total;
  std::int64_t bucket = 0;
  for (const auto& r : reports) {
    // A node that was started again too late never saw a view.
    if (r.bucket_ns == 0 || r.started == Instant::never()) continue;
    bucket = r.bucket_ns;
    const auto shift = static_cast<std::size_t>(
        std::max<std::int64_t>(0, (r.started.ticks() - start.ticks()) / r.bucket_ns));
    total.resize(std::max(total.size(), shift + r.bytes_buckets.size()), 0);
    for (std::size_t i = 0; i < r.bytes_buckets.size(); ++i) total[shift + i] += r.bytes_buckets[i];
  }
  const double seconds = Duration(bucket).to_seconds();
  for (std::size_t i = 0; i < total.size(); ++i) {
    series.push_back(
        {static_cast<double>(i + 1) * seconds * 1e6, static_cast<double>(total[i]) / seconds});
  }
  return decimated(std::move(series));
}

std::vector<report::IntervalRow> interval_rows(const std::vector<NodeReport>& reports,
                                               Instant start) {
  // Every input node has its own view of an interval: the one with the most of them speaks.
  const NodeReport* longest = nullptr;
  for (const auto& r : reports) {
    if (longest == nullptr || r.intervals.size() > longest->intervals.size()) longest = &r;
  }
  std::vector<report::IntervalRow> rows;
  for (const auto& i : longest->intervals) {
    report::IntervalRow row{.id = i.id.value(),
                            .start_us = us_since(start, i.start.ticks()),
                            .proposed_us = std::nullopt,
                            .actual_us = i.actual.to_microseconds()};
    if (i.proposed != Duration{}) row.proposed_us = i.proposed.to_microseconds();
    rows.push_back(row);
  }
  return rows;
}

/// The spread of contributions that come one by one at the full rate: the last of N follows the
/// first by N−1 of the N steps of a round. (Senders in step share the link and can finish together,
/// below it.)
double spread_floor_us(const StreamOptions& options, const report::RunRecord& record) {
  const double timeslices =
      static_cast<double>(record.timeslices_complete + record.timeslices_incomplete);
  if (timeslices == 0 || record.seconds == 0) return 0;
  const double contribution =
      static_cast<double>(record.bytes) / timeslices / static_cast<double>(options.inputs);
  double rate = static_cast<double>(options.link ? options.link->rate.bytes_per_second() : 0);
  if (rate == 0 && record.limit_bytes_per_s) {
    rate = *record.limit_bytes_per_s / static_cast<double>(options.computes);
  }
  if (rate == 0) return 0;  // a goodput is no rate of a link
  return static_cast<double>(options.inputs - 1) * contribution / rate * 1e6;
}

}  // namespace

namespace {

/// Counts of delivered timeslices; unless a member says otherwise, of those below `end`.
struct Outcome {
  std::uint64_t distinct = 0;    ///< also above `end`, of which input nodes have not heard
  std::uint64_t deliveries = 0;  ///< reported ones, each time that they were delivered
  std::uint64_t reported = 0;    ///< different ones that compute nodes say to have delivered
  std::uint64_t delivered = 0;   ///< also those of which only input nodes know: built by compute
                                 ///< nodes, or earlier lives of them, that did not live to report
};

Outcome outcome_below(std::uint64_t end, const Roster& roster,
                      const std::vector<NodeReport>& reports) {
  std::vector<bool> tells_all(roster.computes, false);
  std::vector<TimesliceRun> runs;
  for (const auto& r : reports) {
    if (!roster.is_compute(r.node)) continue;
    runs.insert(runs.end(), r.delivered.runs().begin(), r.delivered.runs().end());
    tells_all[roster.compute_index(r.node)] = !r.restarted;
  }
  Outcome outcome;
  outcome.reported = outcome.delivered = count_distinct(runs, TimesliceIndex(end));
  for (const TimesliceRun& run : runs) {
    const std::uint64_t first = run.first.value();
    const std::uint64_t below = end > first ? (end - first - 1) / run.stride + 1 : 0;
    outcome.deliveries += std::min(run.count, below);
  }
  const std::size_t told = runs.size();
  const bool all_tell = std::all_of(tells_all.begin(), tells_all.end(), [](bool t) { return t; });
  for (const auto& r : reports) {
    for (const auto& b : r.built_by) {
      const bool is_told = b.compute < roster.computes ? tells_all[b.compute] : all_tell;
      if (!is_told) runs.push_back(b.run);
    }
  }
  if (runs.size() > told) outcome.delivered = count_distinct(runs, TimesliceIndex(end));
  std::uint64_t above = end;
  for (const TimesliceRun& run : runs) {
    if (run.count > 0)
      above = std::max(above, run.first.value() + run.stride * (run.count - 1) + 1);
  }
  outcome.distinct = count_distinct(runs, TimesliceIndex(above));
  return outcome;
}

/// By compute node. Of nodes, or earlier lives of them, that did not live to report, the input
/// nodes know which timeslices were consumed.
std::vector<report::ComputeRow> rows_by_compute(std::uint64_t end, const Roster& roster,
                                                const std::vector<NodeReport>& reports) {
  std::vector<report::ComputeRow> rows(roster.computes);
  std::vector<std::vector<TimesliceRun>> known(roster.computes);
  for (std::uint32_t c = 0; c < roster.computes; ++c) rows[c] = {.compute = c, .reported = false};
  for (const auto& r : reports) {
    for (const auto& b : r.built_by) {
      if (b.compute < roster.computes) known[b.compute].push_back(b.run);
    }
    if (!roster.is_compute(r.node)) continue;
    const std::uint32_t c = roster.compute_index(r.node);
    known[c].insert(known[c].end(), r.delivered.runs().begin(), r.delivered.runs().end());
    rows[c].timeslices = r.complete + r.incomplete;
    rows[c].repeated = r.repeated;
    rows[c].reported = true;
  }
  for (std::uint32_t c = 0; c < roster.computes; ++c) {
    const std::uint64_t distinct = count_distinct(known[c], TimesliceIndex(end));
    rows[c].timeslices = std::max(rows[c].timeslices, distinct);
  }
  return rows;
}

void set_content(const std::vector<NodeReport>& reports, report::RunRecord& record) {
  ProgressSample told;
  for (const NodeReport& r : reports) {
    told.timeslices += r.complete + r.incomplete;
    told.bytes += r.bytes;
  }
  record.bytes = content_of(record.timeslices_complete + record.timeslices_incomplete, told);
  record.goodput_bytes_per_s =
      record.seconds > 0 ? static_cast<double>(record.bytes) / record.seconds : 0;
}

}  // namespace

std::uint64_t content_of(std::uint64_t distinct, const ProgressSample& told) {
  if (told.timeslices == 0 || told.timeslices == distinct) return told.bytes;
  // The product of the rest may exceed 64 bits; where all have one size there is no rest.
  const double rest = static_cast<double>(told.bytes % told.timeslices) /
                      static_cast<double>(told.timeslices) * static_cast<double>(distinct);
  return told.bytes / told.timeslices * distinct + static_cast<std::uint64_t>(rest);
}

double limit_of(double bare_writes_bytes_per_s, std::span<const report::RunRecord> runs) {
  double limit = bare_writes_bytes_per_s;
  for (const report::RunRecord& run : runs) limit = std::max(limit, run.goodput_bytes_per_s);
  return limit;
}

void set_limit(const StreamOptions& options, std::optional<double> limit_bytes_per_s,
               report::RunRecord& record) {
  record.limit_bytes_per_s = limit_bytes_per_s;
  record.goodput_of_limit.reset();
  if (limit_bytes_per_s && *limit_bytes_per_s > 0) {
    record.goodput_of_limit = record.goodput_bytes_per_s / *limit_bytes_per_s;
  }
  record.spread_floor_us.reset();
  if (const double floor = spread_floor_us(options, record); floor > 0) {
    record.spread_floor_us = floor;
  }
}

report::RunRecord merge_reports(const StreamOptions& options,
                                const std::vector<NodeReport>& reports) {
  report::RunRecord record;
  const Roster roster{options.inputs, options.computes};
  const Span span = span_of(reports);
  record.schedule = options.schedule;
  record.fabric = options.fabric;
  record.inputs = options.inputs;
  record.computes = options.computes;
  record.seed = options.seed;
  record.seconds = (span.end - span.start).to_seconds();
  std::vector<double> spreads;
  std::vector<double> fill_values;
  std::vector<report::TimesliceSample> timeslices;
  std::vector<report::FillSample> fills;
  std::uint64_t complete_at_first = 0;  // at least so many were complete when they first came out
  for (const auto& r : reports) {
    complete_at_first += r.complete - std::min(r.complete, r.repeated);
    record.timeslices_sent = std::max(record.timeslices_sent, r.sent_below);
    record.credit_waits += r.credit_waits;
    record.quorum_wait_s = std::max(record.quorum_wait_s, r.waited_for_majority.to_seconds());
    record.timeslices_incomplete += r.incomplete;
    record.checks.errors += r.sink.errors;
    record.checks.dropped += r.sink.dropped;
    record.checks.repeated += r.repeated;
    record.checks.late += r.late;
    if (record.checks.first_error.empty()) record.checks.first_error = r.sink.first_error;
    if (!roster.is_compute(r.node)) continue;
    spreads.insert(spreads.end(), r.spreads_us.begin(), r.spreads_us.end());
    for (const auto& f : r.fills) fill_values.push_back(f.fill);
    add_series(r, roster, span.start, timeslices, fills);
  }
  // Timeslices, not counts, are compared: one that came out twice makes up for no other.
  const std::uint64_t consumed_below = record.timeslices_sent;
  const Outcome outcome = outcome_below(consumed_below, roster, reports);
  record.timeslices_lost = record.timeslices_sent - outcome.delivered;
  // A timeslice delivered twice counts once, and a delivered one was sent, even if its input nodes
  // have not heard of that.
  record.timeslices_sent = outcome.distinct + record.timeslices_lost;
  record.timeslices_incomplete =
      std::min(record.timeslices_incomplete,
               outcome.distinct - std::min(outcome.distinct, complete_at_first));
  record.timeslices_complete = outcome.distinct - record.timeslices_incomplete;
  // No sink sees the timeslices of other compute nodes' sinks.
  const std::uint64_t again = outcome.deliveries - outcome.reported;
  if (again > record.checks.repeated) {
    const std::uint64_t silently = again - record.checks.repeated;
    record.checks.errors += silently;
    if (record.checks.first_error.empty()) {
      record.checks.first_error = fmt::format(
          "{} timeslices were delivered by two compute nodes and are not flagged as repeated",
          silently);
    }
  }
  record.by_compute = rows_by_compute(consumed_below, roster, reports);
  set_content(reports, record);
  record.spread_us = report::quantiles_of(std::move(spreads));
  record.buffer_fill = report::quantiles_of(std::move(fill_values));
  set_limit(options, std::nullopt, record);
  if (!reports.empty()) record.intervals = interval_rows(reports, span.start);
  record.series.timeslices = decimated(std::move(timeslices));
  record.series.buffer_fill = decimated(std::move(fills));
  record.series.goodput = goodput_series(reports, span.start);
  return record;
}

Duration goodput_bucket(const StreamOptions& options) {
  constexpr std::int64_t samples_per_bucket = 5;
  return options.sample_every * samples_per_bucket;
}

NodeReport remains_of(NodeId node, Instant started, std::span<const ProgressSample> samples,
                      Duration bucket) {
  NodeReport r;
  r.node = node;
  r.started = started;
  r.ended = samples.empty() ? started : samples.back().at;
  r.bucket_ns = bucket.ticks();
  ProgressSample last{.at = started, .timeslices = 0, .bytes = 0};
  for (const ProgressSample& sample : samples) {
    const std::int64_t first = (last.at - started).ticks() / r.bucket_ns;
    const std::int64_t end = std::max(first + 1, (sample.at - started).ticks() / r.bucket_ns);
    r.bytes_buckets.resize(std::max(r.bytes_buckets.size(), static_cast<std::size_t>(end)), 0);
    const std::uint64_t bytes = sample.bytes - std::min(last.bytes, sample.bytes);
    const auto buckets = static_cast<std::uint64_t>(end - first);
    for (std::uint64_t i = 0; i < buckets; ++i) {
      const std::uint64_t share = bytes * (i + 1) / buckets - bytes * i / buckets;
      r.bytes_buckets[static_cast<std::size_t>(first) + i] += share;
    }
    r.bytes = sample.bytes;
    r.complete = sample.timeslices;
    last = sample;
  }
  return r;
}

namespace {

/// A compute node and an input node that both had been in a stream before: one of them alone built
/// no timeslice there.
bool began_anew(const Roster& roster, const std::vector<NodeReport>& reports) {
  bool input = false, compute = false;
  for (const NodeReport& r : reports) {
    if (r.began_anew) (roster.is_input(r.node) ? input : compute) = true;
  }
  return input && compute;
}

void tell_of_new_beginning(report::RunRecord& record) {
  ++record.checks.errors;
  record.checks.first_error =
      "no node lived on that knew the stream, so that those started again began it anew: the "
      "figures are of the new stream, and timeslices of the earlier one may be lost or come out "
      "twice; a stream goes on as long as one of its nodes lives";
}

}  // namespace

report::RunRecord merge_reports(const StreamOptions& options, const JobReport& job) {
  report::RunRecord record = merge_reports(options, job.nodes);
  record.interrupted = job.interrupted;
  const Instant start = span_of(job.nodes).start;
  const bool anew = began_anew({options.inputs, options.computes}, job.nodes);
  if (anew) tell_of_new_beginning(record);
  std::vector<NodeReport> all = job.nodes;
  for (const NodeReport& r : job.remains) {
    // Who took part in an earlier stream died before this one.
    if (!anew || r.ended >= start) all.push_back(r);
  }
  if (all.size() > job.nodes.size()) {
    set_content(all, record);
    record.series.goodput = goodput_series(all, start);
    set_limit(options, record.limit_bytes_per_s, record);
  }
  for (const faults::FaultPlayed& fault : job.faults) {
    if (record.faults.size() == report::series_limit) break;
    record.faults.push_back({.t_us = us_since(start, fault.at.ticks()), .what = fault.what});
  }
  return record;
}

}  // namespace weft::stream
