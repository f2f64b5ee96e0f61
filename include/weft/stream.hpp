// SPDX-License-Identifier: Apache-2.0
// Timeslice building as a library: everything that `weft stream` does. A job has input nodes, which
// cut streams of microslices into contributions, and compute nodes, which put the contributions of
// all input nodes together to timeslices (Salem et al. 2019, section II). Write a Source
// (weft/source.hpp) to feed it, a Sink (weft/sink.hpp) or a consumer process (weft/consumer.hpp) to
// use the timeslices.
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
  Bandwidth rate{};    ///< zero: not limited
  Duration latency{};  ///< added between two nodes
};

/// Parameters of the dfs schedule (Salem et al. 2019, Table I and section III); docs/dfs.md
/// explains them.
struct DfsParameters {
  std::uint32_t timeslices_per_interval = 10000;  ///< 1 … 10,000,000
  std::uint32_t history_length = 10;              ///< intervals, 1 … 1000
  double speed_up_threshold_percent = 10;         ///< 0 … 1000
  double speed_up_percent = 5;                    ///< 0 … 90
  double acknowledgement_threshold_percent = 95;  ///< θ of III.C, 0 … 100
  std::uint32_t engines = 0;                      ///< DDEs; 0: one on every compute node
  std::uint32_t request_distance = 2;             ///< intervals (III.C), 2 … 1000
};

/// Parameters of the grant schedule; docs/schedules.md explains them.
struct GrantParameters {
  /// The fewest contributions in flight to a compute node, at least 1.
  std::uint32_t min_in_flight = 1;
  /// The most contributions in flight to a compute node, for each of its input nodes; at least
  /// `min_in_flight`.
  std::uint32_t max_in_flight = 4096;
  /// All that the rings hold is in flight from the beginning, since nodes decide the pace and not
  /// links. Jobs on one machine set it if they have more nodes than cores, and no links. Where it
  /// is set, `max_in_flight` is the same on all nodes, too.
  bool begins_full = false;
  /// A grant is late after this multiple of the usual time, at least 1.
  std::uint32_t late_factor = 2;
  /// The most timeslices, besides the rounds in flight, by which inputs may be ahead; at least 1.
  std::uint32_t open_timeslices = 16;
};

/// The rule that decides which parts of a job continue after a network partition between its input
/// nodes.
enum class Quorum : std::uint8_t {
  /// The part with more than half of the job's input nodes, or with half of them and input 0,
  /// continues. Other parts wait, and so does a job in which too many input nodes died.
  majority,
  /// Every part that has an input and a compute node continues. A part without a majority flags its
  /// timeslices as `repeated`, as another part may build them too.
  none,
};

/// The options of a job. They are the same on all its nodes.
struct StreamOptions {
  std::uint32_t inputs = 4;        ///< input nodes, 1 … 8192
  std::uint32_t computes = 4;      ///< compute nodes, 1 … 8192
  std::string schedule = "grant";  ///< best-effort, offset, dfs, grant
  DfsParameters dfs;
  GrantParameters grant;

  /// auto, tcp, tcp:unix, shm, libfabric:PROVIDER; where all nodes are local also sim:SCENARIO, a
  /// simulation (docs/simulator.md).
  std::string fabric = "tcp";
  std::optional<StreamLink> link;  ///< shapes every node's link
  ServiceLevel data_level{};       ///< of contributions
  ServiceLevel control_level{};    ///< of messages between nodes
  /// Peers consider a node dead that they cannot reach for this long.
  Duration peer_timeout = Duration::seconds(10);
  Quorum quorum = Quorum::none;
  /// Input nodes exclude a compute node that takes nothing and does not answer for this long,
  /// although its connection lives, until it continues. At least a millisecond.
  Duration stall_timeout = Duration::seconds(30);

  std::string source = "pattern:?size=64KiB";
  std::vector<std::string> sinks;  ///< an empty list has the effect of null:
  /// Tells unfinished files of this run's sinks from those of other runs. `run_stream` sets it
  /// itself.
  std::string run;
  bool replaces_files = false;  ///< sinks may write over files that existed before the job
  /// These files, as far as their names are known. `run_stream` sets them itself.
  std::vector<OlderFile> older_files;
  /// Functions that replace `source` and `sinks` when they are set. The node's process calls them.
  std::function<Result<std::unique_ptr<Source>>(const SourcePlace&)> make_source;
  std::function<Result<std::unique_ptr<Sink>>(const SinkPlace&)> make_sink;

  std::uint32_t microslices_per_timeslice = 1;  ///< of one input's core, at least 1
  std::uint32_t overlap_microslices = 0;
  ByteCount buffer = ByteCount::mib(1);  ///< data ring of each pair; rounded up to a power of two
  /// Saves memory: all pairs of a compute node write into the memory of one ring, over each other,
  /// and input nodes keep contents in one ring, too. Contents are lost, so the job needs `null:` as
  /// its only sink.
  bool one_ring = false;
  std::uint32_t descriptors = 256;  ///< most contributions that a pair can hold, 1 … 1,048,576
  /// Buffer for contents at each input node; 0: the size of all its pairs' rings and one more.
  ByteCount input_buffer{};
  /// So much of each of a node's buffers, at most all of it, is in memory before the node begins:
  /// the first contributions to go through a page of the rest wait until the system has found it.
  /// Nodes that are processes touch 64 MiB at least, and less where the machine has many nodes or
  /// little memory.
  ByteCount touched_buffers{};
  /// Most timeslices that wait for the sink or that it holds, at least 1.
  std::uint32_t sink_depth = 64;
  /// The driver's loop calls the sinks, which must not block, instead of a thread of their own.
  bool sink_in_loop = false;
  /// The driver's loop reads a source's files, instead of a thread of their own.
  bool source_in_loop = false;
  /// A compute node drops and counts timeslices while its sink is full, instead of back-pressure.
  bool skip_when_sink_is_slow = false;

  std::uint64_t timeslices = 0;  ///< 0: until the duration is over or the sources end
  Duration duration{};           ///< 0: until `timeslices` are built or the sources end
  /// A timeslice is flagged as late when a contribution arrives this long after its first one;
  /// `max()`: never.
  Duration late_after = Duration::max();
  /// A compute node delivers an incomplete timeslice this long after its first contribution;
  /// `max()`: never.
  Duration give_up_after = Duration::max();
  /// How long a job waits at its start for missing nodes. Then it starts without them.
  Duration start_timeout = Duration::seconds(30);
  /// The time between samples of the buffers, at least a microsecond. The report averages goodput
  /// over five times as long.
  Duration sample_every = Duration::milliseconds(20);
  std::uint64_t seed = 1;  ///< of all random numbers of the job
};

/// Checks the options without opening anything. Errors name the option of `weft stream`, the value
/// and the fix.
Result<void> check_options(const StreamOptions& options);

/// How `run_stream` runs a job on this machine.
struct LocalOptions {
  bool restart = false;  ///< restart nodes that were killed
  /// Faults to inject, in the language of docs/testbed.md. Hosts are nodes: inputs, then computes.
  std::vector<std::string> faults;
  /// Keys of the simulated scenario and their new values: "network.router=minimal".
  std::vector<std::string> scenario_settings;
  bool testbed = false;                           ///< every node in a network namespace of its own
  Bandwidth testbed_link{};                       ///< rate of the testbed's links
  ByteCount testbed_queue = ByteCount::kib(128);  ///< what a switch port of the testbed holds
  std::string metrics;  ///< "[HOST]:PORT" of an OpenMetrics endpoint; empty: none
  /// How long the commands measure the limit. `run_stream` measures none, and ignores it.
  Duration limit_duration = Duration::seconds(2);
  std::string log_level = "warning";
  /// The command that the commands record in their reports. `run_stream` ignores it.
  std::string executable_command;
  /// Called on the thread that calls `run_stream`, about twice a second of real time.
  std::function<void(const struct StreamProgress&)> on_progress;
};

/// Figures of a running job.
struct StreamProgress {
  Duration elapsed{};            ///< since the job's start; simulated in a simulation
  std::uint64_t timeslices = 0;  ///< delivered so far, incomplete ones included
  std::uint64_t bytes = 0;       ///< content of these
  /// Since the previous call; in a simulation since the job's start.
  double goodput_bytes_per_s = 0;
  /// The mean of the compute nodes' values, each the median of its latest timeslices' spreads, us.
  double spread_us = 0;
  double buffer_fill = 0;  ///< mean over the sampled pairs' rings, 0 … 1
};

/// The results of a job, all its nodes together.
struct StreamSummary {
  std::uint64_t timeslices_complete = 0;
  std::uint64_t timeslices_incomplete = 0;  ///< delivered, but flagged as missing something
  std::uint64_t timeslices_lost = 0;        ///< sent and never delivered
  std::uint64_t bytes = 0;                  ///< content delivered in timeslices
  double seconds = 0;                       ///< from the stream's start to its last timeslice
  /// Number of findings of the sinks, and of timeslices delivered twice without the flag
  /// `repeated`.
  std::uint64_t errors = 0;
  std::string first_error;  ///< in one line; empty: there was none
  std::string json;  ///< as `weft stream local --json` prints it; docs/report.md has the fields
};

/// Runs a job to its end on this machine, as `weft stream local` does: its nodes are processes, or
/// with a fabric `sim:SCENARIO` all in one simulation. Forks its nodes, so the calling process must
/// not have threads; a simulation does not fork. SIGINT or SIGTERM ends the stream in agreement; a
/// second one ends it at once, with the error cancelled. Errors: a wrong option, a node that could
/// not start, a job that did not start within twice `start_timeout`, all nodes of a kind lost. A
/// job that ran and lost or damaged data is no error: see the summary.
Result<StreamSummary> run_stream(const StreamOptions& options, const LocalOptions& local = {});

}  // namespace weft
