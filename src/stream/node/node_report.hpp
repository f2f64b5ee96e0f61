// SPDX-License-Identifier: Apache-2.0
// NodeReport: the figures of one node of a job, sent to the process that merges them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/schedule/schedule.hpp"
#include "core/stream/input_machine.hpp"
#include "core/stream/roster.hpp"
#include "core/stream/timeslice_set.hpp"
#include "faults/fault.hpp"
#include "report/run_record.hpp"
#include "weft/ids.hpp"
#include "weft/sink.hpp"
#include "weft/stream.hpp"
#include "weft/time.hpp"

namespace weft::stream {

/// Instants are of the machine's monotonic clock.
struct NodeReport {
  NodeId node{};
  std::string error;                   ///< why it failed; empty when it did not
  Instant started = Instant::never();  ///< its first view
  Instant ended{};                     ///< its last timeslice or acknowledgement
  /// Two of its lives began a stream: the later one and its peers knew nothing of the earlier.
  bool began_anew = false;

  // Input nodes.
  std::uint64_t sent_below = 0;  ///< one past the newest timeslice that was consumed
  std::uint64_t sent_bytes = 0;
  std::uint64_t credit_waits = 0;
  std::uint64_t repeated_contributions = 0;
  Duration waited_for_majority{};  ///< as the one that would have led
  std::vector<schedule::IntervalRecord> intervals;
  std::vector<BuiltBy> built_by;  ///< see InputMachine::built_by

  // Compute nodes.
  bool restarted = false;  ///< an earlier life may have built something, too
  TimesliceSet delivered;  ///< to the sink, by this life
  std::uint64_t complete = 0;
  std::uint64_t incomplete = 0;
  std::uint64_t late = 0;
  std::uint64_t repeated = 0;
  std::uint64_t bytes = 0;
  SinkSummary sink;
  std::vector<double> spreads_us;
  struct Built {
    std::int64_t at = 0;  ///< ns
    std::uint64_t index = 0;
    double spread_us = 0;
  };
  std::vector<Built> built;  ///< a sample
  struct Fill {
    std::int64_t at = 0;
    std::uint32_t input = 0;
    double fill = 0;
  };
  std::vector<Fill> fills;                   ///< a sample
  std::int64_t bucket_ns = 0;                ///< length of a goodput bucket
  std::vector<std::uint64_t> bytes_buckets;  ///< delivered content per bucket since `started`
};

/// The reports of a job's nodes.
struct JobReport {
  std::vector<NodeReport> nodes;  ///< of those that lived to report
  /// The remains of compute nodes' lives that ended without a report: content over time.
  std::vector<NodeReport> remains;
  std::vector<faults::FaultPlayed> faults;
  bool interrupted = false;  ///< the user ended it early
};

/// Binary, for a Channel.
std::string encode_report(const NodeReport& report);
Result<NodeReport> decode_report(std::string_view bytes);

/// Length of a bucket of `bytes_buckets`.
Duration goodput_bucket(const StreamOptions& options);

/// How far a node has come: the sums of one of its lives.
struct ProgressSample {
  Instant at{};
  std::uint64_t timeslices = 0;  ///< complete or not
  std::uint64_t bytes = 0;
};
/// Returns the content of `distinct` different timeslices, each counted once. Compute nodes tell
/// how much they delivered: some of it twice, and not what they delivered between their last word
/// and their death. If they told of another number of timeslices, each of the distinct ones has the
/// mean size of all they told of.
std::uint64_t content_of(std::uint64_t distinct, const ProgressSample& told);
/// The report for a life of `node` that ended without one, from the progress that it sent; samples
/// in order. Content counts as delivered evenly between two of them, and timeslices as complete.
NodeReport remains_of(NodeId node, Instant started, std::span<const ProgressSample> samples,
                      Duration bucket);

/// Puts the nodes' reports together: everything that --json prints, but limit, parameters, command.
report::RunRecord merge_reports(const StreamOptions& options,
                                const std::vector<NodeReport>& reports);
report::RunRecord merge_reports(const StreamOptions& options, const JobReport& job);
/// The limit of runs on the same fabric, bytes per second: the rate of bare writes there, or of a
/// run that was faster. Writes without a schedule disturb each other.
double limit_of(double bare_writes_bytes_per_s, std::span<const report::RunRecord> runs);
/// Adds the result of the many-to-many write benchmark, and with it the floor of the spread.
void set_limit(const StreamOptions& options, std::optional<double> limit_bytes_per_s,
               report::RunRecord& record);

}  // namespace weft::stream
