// SPDX-License-Identifier: Apache-2.0
// Timeslice building as a library: everything that `weft stream` does. A job has input nodes, which
// cut streams of microslices into contributions, and compute nodes, which put the contributions of
// all input nodes together to timeslices (paper 1, section II). Write a Source (weft/source.hpp) to
// feed it, a Sink (weft/sink.hpp) or a consumer process (weft/consumer.hpp) to use the timeslices.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/ids.hpp"
#include "weft/result.hpp"
#include "weft/sink.hpp"
#include "weft/source.hpp"
#include "weft/time.hpp"

namespace weft {

/// A link of the shaped fabric: bytes leave at `rate`, and arrive `latency` later.
struct StreamLink {
  Bandwidth rate{};    ///< zero: as fast as it goes
  Duration latency{};  ///< node to node
};

/// Parameters of the dfs schedule (paper 1, Table I and section III); docs/dfs.md explains them.
struct DfsParameters {
  std::uint32_t timeslices_per_interval = 10000;
  std::uint32_t history_length = 10;
  double speed_up_threshold_percent = 10;
  double speed_up_percent = 5;
  double acknowledgement_threshold_percent = 95;  ///< θ
  std::uint32_t engines = 0;                      ///< DDEs; 0: one on every compute node
  std::uint32_t request_distance = 2;
};

/// Parameters of the grant schedule; docs/schedules.md explains them.
struct GrantParameters {
  std::uint32_t min_in_flight = 1;
  std::uint32_t max_in_flight = 4096;
  std::uint32_t late_factor = 2;
  std::uint32_t open_timeslices = 16;
};

/// The rule that decides which parts of a job continue after a network partition between its input
/// nodes.
enum class Quorum : std::uint8_t {
  /// The part with more than half of the job's input nodes, or with half of them and input 0. Other
  /// parts wait, as does a job whose other input nodes died.
  majority,
  /// Every part that has an input and a compute node. A part without a majority flags its
  /// timeslices as `repeated`, as another part may build them too.
  none,
};

/// The options of a job. They are the same on all its nodes.
struct StreamOptions {
  std::uint32_t inputs = 4;
  std::uint32_t computes = 4;
  std::string schedule = "grant";  ///< best-effort, offset, dfs, grant
  DfsParameters dfs;
  GrantParameters grant;

  /// tcp, tcp:unix, libfabric:PROVIDER; where all nodes are local also sim:SCENARIO, a simulation
  /// (docs/simulator.md).
  std::string fabric = "tcp";
  std::optional<StreamLink> link;  ///< shapes every node's link
  ServiceLevel data_level{};
  ServiceLevel control_level{};
  Duration peer_timeout = Duration::seconds(10);
  Quorum quorum = Quorum::none;
  /// A compute node that takes nothing and does not answer for so long, although its connection
  /// lives, is left out until it continues. Not less than a millisecond.
  Duration stall_timeout = Duration::seconds(30);

  std::string source = "pattern:?size=64KiB";
  std::vector<std::string> sinks;  ///< none: null:
  /// Tells unfinished files of this run's sinks from those of other runs; may be empty.
  std::string run;
  bool replaces_files = false;  ///< sinks may write over files that existed before the job
  /// When set, they replace `source` and `sinks`. The node's process calls them.
  std::function<Result<std::unique_ptr<Source>>(const SourcePlace&)> make_source;
  std::function<Result<std::unique_ptr<Sink>>(const SinkPlace&)> make_sink;

  std::uint32_t microslices_per_timeslice = 1;
  std::uint32_t overlap_microslices = 0;
  ByteCount buffer = ByteCount::mib(1);  ///< data ring of each pair; rounded up to a power of two
  /// All pairs of a compute node write into the memory of one ring, over each other, and input
  /// nodes keep contents in one ring, too: for jobs in which no sink reads contents and the memory
  /// of all rings would be too much.
  bool one_ring = false;
  std::uint32_t descriptors = 256;  ///< contributions that a pair can hold at most
  ByteCount input_buffer{};         ///< of each input node; 0: as much as all its pairs hold
  std::uint32_t sink_depth = 64;    ///< timeslices that wait for the sink or are held by it
  /// Call sinks from the driver's loop instead of a thread of their own: for sinks that never
  /// block.
  bool sink_in_loop = false;
  /// Read files in the driver's loop, too: for disks that never make it wait.
  bool source_in_loop = false;
  bool skip_when_sink_is_slow = false;  ///< drop and count, instead of back-pressure

  std::uint64_t timeslices = 0;  ///< 0: until the duration is over or the sources end
  Duration duration{};           ///< 0: until `timeslices` are built or the sources end
  Duration late_after = Duration::max();
  Duration give_up_after = Duration::max();
  /// How long a job waits at its start for missing nodes; then it goes on without them.
  Duration start_timeout = Duration::seconds(30);
  /// How often the report samples buffers; it averages goodput over five times as long.
  Duration sample_every = Duration::milliseconds(20);
  std::uint64_t seed = 1;
};

/// Checks the options without opening anything. Errors name the option, value and fix.
Result<void> check_options(const StreamOptions& options);

/// How `run_local` runs a job on this machine.
struct LocalOptions {
  bool restart = false;             ///< restart nodes that were killed
  std::vector<std::string> faults;  ///< docs/testbed.md; hosts are nodes: inputs, then computes
  /// Keys of the simulated scenario and their new values: "network.router=minimal".
  std::vector<std::string> scenario_settings;
  bool testbed = false;      ///< every node in a network namespace of its own
  Bandwidth testbed_link{};  ///< of the testbed's hosts
  ByteCount testbed_queue = ByteCount::kib(128);
  std::string metrics;         ///< "[HOST]:PORT" of an OpenMetrics endpoint; empty: none
  bool measure_limit = false;  ///< first run the many-to-many write benchmark
  Duration limit_duration = Duration::seconds(2);
  std::string log_level = "warning";
  std::string executable_command;  ///< recorded in reports; reruns the job
  /// Called about twice a second while the job runs.
  std::function<void(const struct StreamProgress&)> on_progress;
};

/// Figures of a running job.
struct StreamProgress {
  Duration elapsed{};
  std::uint64_t timeslices = 0;
  std::uint64_t bytes = 0;
  double goodput_bytes_per_s = 0;  ///< since the previous call
  double spread_us = 0;            ///< median over the timeslices since then
  double buffer_fill = 0;          ///< mean over all pairs, 0 … 1
};

/// The results of a job, all its nodes together.
struct StreamSummary {
  std::uint64_t timeslices_complete = 0;
  std::uint64_t timeslices_incomplete = 0;  ///< delivered, but flagged as missing something
  std::uint64_t timeslices_lost = 0;        ///< sent and never delivered
  std::uint64_t bytes = 0;                  ///< content delivered in timeslices
  double seconds = 0;
  std::uint64_t errors = 0;  ///< anything that a sink found wrong
  std::string first_error;
  std::string json;  ///< as `weft stream local --json` prints it; docs/report.md has the fields
};

/// Runs a job whose nodes are all processes of this machine, to its end, as `weft stream local`
/// does. Forks: call it from a process without threads. SIGINT or SIGTERM ends the stream in
/// agreement; a second one ends it at once. Errors: a wrong option, a node that could not start,
/// all nodes of a kind lost. A job that ran and lost or damaged data is no error: see the summary.
Result<StreamSummary> run_stream(const StreamOptions& options, const LocalOptions& local = {});

}  // namespace weft
