// SPDX-License-Identifier: Apache-2.0
// Jobs whose nodes are all in one simulation: `weft stream … --fabric sim:SCENARIO`.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "faults/fault.hpp"
#include "runtime/stop_signals.hpp"
#include "sim/job/job_beside.hpp"
#include "sim/job/job_driver.hpp"
#include "sim/partition/exchange.hpp"
#include "sim/rc/reliable_connections.hpp"
#include "sim/record/network_record.hpp"
#include "sim/run/world.hpp"
#include "sim/scenario/scenario.hpp"
#include "stream/node/node_report.hpp"
#include "stream/node/stream_node.hpp"
#include "weft/result.hpp"
#include "weft/stream.hpp"

namespace weft::stream {

/// Figures of the simulation itself, besides the job's reports.
struct SimulationTrace {
  std::uint64_t trace_hash = 0;
  std::uint64_t events = 0;
  std::uint64_t packet_hops = 0;
  Duration simulated{};
  /// With SimulationOptions::settle: nothing was left in the network, and every buffer was whole.
  bool at_rest = false;
  /// The counters of all jobs' adapters of reliable connections; none without any.
  std::optional<sim::RcCounters> reliable;
  /// The state of each of this part's nodes, when a job did not end.
  std::vector<std::string> nodes;
};

/// Returns the wish that signals so far stand for: after the first one an end in order, and two
/// seconds later an end at once, since sending all data that sources have produced may take as long
/// as the rest of the simulation.
sim::EndWish end_wish(const StopSignals& signals);

/// Options that only some callers set.
struct SimulationOptions {
  std::vector<faults::Fault> faults;  ///< of the first job, besides those that the scenario names
  /// The simulation gives up a job that has not ended this long, simulated, after its planned end.
  Duration patience = Duration::seconds(120);
  /// When the jobs are over, end background traffic and wait until the network is empty.
  bool settle = false;
  /// If set, the simulation is divided among its ranks, which all make the same calls and get the
  /// same reports. It has links that take some time, and `network` is not set.
  sim::Exchange* exchange = nullptr;
  /// Called every few simulated microseconds, once in each process; may be empty.
  std::function<sim::EndWish()> wish;
  /// If set, receives the network's load and messages; recording does not change the simulation.
  sim::NetworkRecording* network = nullptr;
  /// If set, called with every packet of the streams' adapters at the port of `tapped_host`; needs
  /// fabric.reliable.
  std::function<void(const sim::RcTapped&)> tap;
  std::uint32_t tapped_host = 0;
  /// Only this one of the jobs runs, where it would run beside the others; only it reports.
  std::optional<std::size_t> alone;
  /// Jobs of other kinds, in the scenario's order. With `alone` none of them runs, though they keep
  /// their hosts. They need a simulation in one part.
  std::span<const sim::JobBeside> beside = {};
};

/// One of the jobs of a simulation. Its references outlive the simulation.
struct SimulatedJob {
  const StreamOptions& options;
  const LocalOptions& local;  ///< its faults count too; only the first job's progress is told
  NodeFactory factory;
  std::string name = "job";
  std::string key = "job";                         ///< in the scenario, for messages
  Duration start{};                                ///< since the simulation's
  std::optional<sim::PlacementOptions> placement;  ///< none: the scenario's
};

/// Runs jobs, and those beside them, on one network to their ends and returns the reports of
/// `jobs`, in their order. They are placed one after the other on hosts that are free. Node n of a
/// job is its host n in faults, whose times count from when its stream flows; with several jobs
/// faults name theirs ("JOB:host3"), and those of cables count from the beginning. `trace`, if not
/// null, is also filled when a job does not end. Single-threaded; the same scenario, options and
/// build give the same reports, unless interrupted, in any number of parts. Errors: those of the
/// scenario; a node that cannot be made; a job that does not end.
Result<std::vector<JobReport>> run_simulated_jobs(const sim::Scenario& scenario,
                                                  std::span<const SimulatedJob> jobs,
                                                  SimulationTrace* trace = nullptr,
                                                  const SimulationOptions& simulation = {});

/// The same for one job, with the name, start and placement of the scenario's [job] if that is its
/// only one.
Result<JobReport> run_simulated_job(const sim::Scenario& scenario, const StreamOptions& options,
                                    const LocalOptions& local, const NodeFactory& factory,
                                    SimulationTrace* trace = nullptr,
                                    const SimulationOptions& simulation = {});

}  // namespace weft::stream
