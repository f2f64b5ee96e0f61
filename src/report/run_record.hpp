// SPDX-License-Identifier: Apache-2.0
// RunRecord: the record of a run of `weft stream`. `--json` prints it, DIR/run.json and
// DIR/compare.json hold it (docs/report.md lists the fields), and `weft report` reads it. Member
// names are the JSON names; a member that has no value is null in the JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/decimated.hpp"
#include "weft/result.hpp"

namespace weft::report {

/// Five figures of a distribution, as the boxes of paper 1's Figs. 6 and 9 show it.
struct Quantiles {
  double min = 0;
  double p10 = 0;
  double median = 0;
  double p90 = 0;
  double max = 0;

  bool operator==(const Quantiles&) const = default;
};

/// The quantiles of `samples`, by linear interpolation between the two nearest order statistics;
/// none when there is no sample. Samples must be finite. Takes the samples because it sorts them.
std::optional<Quantiles> quantiles_of(std::vector<double> samples);

/// One interval of a schedule that has them (Fig. 8). Times are microseconds.
struct IntervalRow {
  std::uint64_t id = 0;
  double start_us = 0;                ///< since the start of the run
  std::optional<double> proposed_us;  ///< none when nothing was proposed for the interval
  double actual_us = 0;

  bool operator==(const IntervalRow&) const = default;
};

/// The findings of sinks (weft/sink.hpp), summed over all compute nodes.
struct Checks {
  std::uint64_t errors = 0;  ///< anything above 0 makes the run fail
  std::string first_error;   ///< empty when there is none
  std::uint64_t dropped = 0;
  std::uint64_t repeated = 0;
  std::uint64_t late = 0;

  bool operator==(const Checks&) const = default;
};

/// The machine that a run was measured on.
struct Machine {
  std::string host;
  std::uint32_t cpus = 0;
  std::string model;
  std::string kernel;
  std::uint64_t memory_bytes = 0;

  bool operator==(const Machine&) const = default;
};

/// Describes this machine from uname, the online processors and /proc; unknown members stay empty
/// or 0.
Machine this_machine();

/// One complete timeslice: first to last contribution took `spread_us`.
struct TimesliceSample {
  double t_us = 0;  ///< of its last contribution, since the start of the run
  std::uint64_t index = 0;
  std::uint32_t compute = 0;
  double spread_us = 0;

  bool operator==(const TimesliceSample&) const = default;
};

/// Goodput of all compute nodes together, averaged since the sample before.
struct GoodputSample {
  double t_us = 0;
  double bytes_per_s = 0;

  bool operator==(const GoodputSample&) const = default;
};

/// How full a compute node's buffer was, as a fraction of its size. With `input`, the part of the
/// buffer that belongs to that one input node (Fig. 9's connection); without, all of it.
struct FillSample {
  double t_us = 0;
  std::uint32_t compute = 0;
  std::optional<std::uint32_t> input;
  double fill = 0;

  bool operator==(const FillSample&) const = default;
};

/// Values over time. Their writer keeps each within `series_limit` samples (Decimated).
struct Series {
  std::vector<TimesliceSample> timeslices;
  std::vector<GoodputSample> goodput;
  std::vector<FillSample> buffer_fill;

  bool operator==(const Series&) const = default;
};

/// The timeslices that one compute node built.
struct ComputeRow {
  std::uint32_t compute = 0;
  std::uint64_t timeslices = 0;  ///< by all its lives, as the input nodes know
  std::uint64_t repeated = 0;    ///< of its last life's: that another may have delivered before
  bool reported = true;          ///< its last life lived to the end of the run

  bool operator==(const ComputeRow&) const = default;
};

/// Something that was made to go wrong, or its end ("end of link-down host3").
struct FaultMark {
  double t_us = 0;  ///< since the start of the run
  std::string what;

  bool operator==(const FaultMark&) const = default;
};

/// One measurement of `weft stream limit` (paper 1, V.A, Figs. 3 to 5).
struct LimitRow {
  std::uint64_t message_bytes = 0;
  bool mix = false;     ///< small messages went with each large one
  double round_us = 0;  ///< every sender writes one message to every receiver
  double bandwidth_per_sender_bytes_per_s = 0;
  double aggregate_bytes_per_s = 0;
  /// The upper bound: the aggregate, or that of senders that do not disturb each other.
  std::optional<double> limit_bytes_per_s;

  bool operator==(const LimitRow&) const = default;
};

/// A figure that somebody published of such a run (report/published.hpp), and this run's.
struct PublishedFigure {
  std::string metric;  ///< "goodput_of_limit"
  std::string bound;   ///< "at least", "at most", "about"; empty: the figure itself
  double value = 0;
  std::string source;          ///< "paper 1, Fig. 7"
  std::optional<double> ours;  ///< none: not measured

  bool operator==(const PublishedFigure&) const = default;
};

/// A run. Optional members are none when they were not measured or do not apply.
struct RunRecord {
  std::string schedule;
  std::string fabric;
  std::uint32_t inputs = 0;
  std::uint32_t computes = 0;
  std::uint64_t timeslices_sent = 0;
  std::uint64_t timeslices_complete = 0;
  std::uint64_t timeslices_incomplete = 0;  ///< delivered with a flag that something is missing
  std::uint64_t timeslices_lost = 0;        ///< sent and never delivered
  std::uint64_t bytes = 0;                  ///< content delivered in timeslices
  double seconds = 0;
  double goodput_bytes_per_s = 0;
  std::optional<double> limit_bytes_per_s;  ///< the result of `weft stream limit`
  std::optional<double> goodput_of_limit;   ///< a fraction, 1 is the limit
  std::optional<Quantiles> spread_us;       ///< first to last contribution of a timeslice
  std::optional<double> spread_floor_us;    ///< contributions one by one at full rate
  std::optional<Quantiles> buffer_fill;     ///< fractions, 0 to 1
  std::uint64_t credit_waits = 0;
  double quorum_wait_s = 0;  ///< for which a part of the job waited for a majority of its inputs
  std::vector<IntervalRow> intervals;
  std::uint64_t seed = 0;
  std::string version;
  Checks checks;
  bool interrupted = false;  ///< the user ended it before its time
  std::vector<PublishedFigure> published;

  // Only in files, not in the output of `--json`.
  std::vector<std::pair<std::string, std::string>> parameters;  ///< option name and value, in order
  Machine machine;
  std::string command;  ///< reruns it when pasted into a shell
  Series series;
  std::vector<FaultMark> faults;
  std::vector<ComputeRow> by_compute;
  std::string job;              ///< its name, when it was one of several; else empty
  std::vector<LimitRow> limit;  ///< `weft stream limit` only

  bool operator==(const RunRecord&) const = default;
};

/// How many samples of one series are written at most.
inline constexpr std::size_t series_limit = 5000;

/// An even sample of a series, of so many values at most.
template <class T>
class Decimated : public weft::Decimated<T> {
 public:
  explicit Decimated(std::size_t limit = series_limit) : weft::Decimated<T>(limit) {}
};

enum class RecordForm : std::uint8_t {
  summary,  ///< as `--json` prints it: figures, intervals and checks
  full,     ///< everything, as in run.json
};

/// The record as one JSON object, without a newline at the end. Figures that are not finite become
/// null, rows of series and intervals that are not finite are left out; text that is not UTF-8 has
/// its bad bytes replaced.
std::string to_json(const RunRecord& record, RecordForm form);

/// ["a","b"], with the same care for bad bytes.
std::string json_text_array(std::span<const std::string> texts);

/// Reads either form. `origin` names the text in errors ("out/run.json"), which say which member
/// is missing or of the wrong kind (code corrupt). Members it does not know are ignored.
Result<RunRecord> from_json(std::string_view text, std::string_view origin);

/// Reads a comparison, {"runs": […]} with at least one run; otherwise as from_json.
Result<std::vector<RunRecord>> runs_from_json(std::string_view text, std::string_view origin);

/// Writes DIR/run.json. DIR is made when missing. The file appears whole or not at all.
Result<void> write_run(const std::string& dir, const RunRecord& record);
/// Writes DIR/compare.json, {"runs": […]}, in the same way.
Result<void> write_comparison(const std::string& dir, std::span<const RunRecord> runs);
/// All runs that DIR holds: those of compare.json, then the one of run.json. An error names the
/// file that is missing or malformed.
Result<std::vector<RunRecord>> read_runs(const std::string& dir);

/// Writes `text` to `path` through a temporary file and a rename: readers see the old file or the
/// new one, and a full disk leaves the old one.
Result<void> write_file_whole(const std::string& path, std::string_view text);

}  // namespace weft::report
