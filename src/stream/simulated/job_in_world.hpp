// SPDX-License-Identifier: Apache-2.0
// JobInWorld: the nodes of one job in a simulation, and their faults.
//
// In a divided simulation every part has one and does the same with it at the same simulated times:
// all of them decide alike on faults and ends. They exchange facts that only a node's own part
// knows whenever they look around (sim::JobFacts).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/engine/agent.hpp"
#include "sim/job/hosted_job.hpp"
#include "sim/job/job_driver.hpp"
#include "sim/telemetry/trace_file.hpp"
#include "stream/simulated/simulated_job.hpp"
#include "stream/simulated/simulated_node.hpp"

namespace weft::stream {

/// World, hosts and everything in `job` outlive it. `number` tells its random numbers from those of
/// the simulation's other jobs. Node n runs on host `hosts[n]`.
class JobInWorld final : public sim::Job, private sim::HostedJob, private sim::Agent {
 public:
  JobInWorld(sim::World& world, std::uint32_t number, std::vector<std::uint32_t> hosts,
             const SimulatedJob& job, const SimulationOptions& simulation);

  /// From now on its nodes' turns, and once it reports its timeslices, go into the trace.
  void trace_to(sim::TraceFile& trace);
  /// Its processes begin now, or when the job says; faults count from when the stream flows.
  void begin(std::vector<faults::Fault> faults);
  const std::string& name() const override { return name_; }
  sim::JobFacts facts() const override;
  std::optional<sim::JobFailure> failure() const override;
  void learn(const sim::JobFacts& facts) override { known_ = facts; }
  Result<void> look_around() override;
  /// Returns whether no node takes part any more, or all have finished.
  bool over() const override;
  /// Ends the stream in agreement; nodes that have not begun do not begin.
  void interrupt() override;
  void cut_off() override;
  Result<void> conclude(sim::Exchange& exchange) override;
  void retire() override;
  PicoDuration slice() const override;
  bool wants_progress() const override;
  void tell_progress(sim::Exchange& exchange) override;

  /// The reports of its nodes, once it has been concluded.
  JobReport& report() { return report_; }
  std::vector<std::string> describe() const;
  using sim::HostedJob::rc_counters;
  using sim::HostedJob::tap_packets;

 private:
  enum Timer : std::uint16_t { stop_timer, fault_timer, start_timer };

  void start();
  std::vector<NodeReport> reports();
  StreamProgress progress_here();
  StreamProgress progress(StreamProgress sums) const;
  std::string node_name(std::uint32_t n) const;
  std::uint32_t track(std::uint32_t n) const { return number_ << 16 | (n + 1); }
  void trace_timeslices(const NodeReport& report);
  Result<void> spawn(std::uint32_t n);
  void introduce(SimulatedNode& to, std::uint32_t n);
  bool more_faults() const { return faults_ && faults_->next_deadline() != Instant::never(); }
  bool any_will_restart() const;
  bool any_lives(std::uint32_t first, std::uint32_t last) const;
  /// The stream flows: from here on faults and the duration count.
  void flow();
  void stop_all();
  void set_timer(PicoInstant at, Timer timer);
  void fail(std::uint32_t node, Error error);
  void next_fault();
  void play_faults();
  void on_timer(std::uint16_t detail, std::uint64_t payload) override;

  // FaultTarget
  Result<void> kill(std::uint32_t host) override;
  void keep_remains(std::uint32_t host);
  Result<void> restart(std::uint32_t host) override;
  sim::HostedProcess& process(std::uint32_t node) override { return *nodes_[node]; }

  std::uint32_t number_;
  std::string name_;
  sim::TraceFile* trace_ = nullptr;
  Duration patience_;
  std::function<sim::EndWish()> wish_;
  Duration starts_at_;
  const StreamOptions& options_;
  const LocalOptions& local_;
  SimulatedPlace place_;
  std::uint32_t agent_;
  std::vector<std::unique_ptr<SimulatedNode>> nodes_;  // empty: not started
  std::vector<faults::Fault> faults_to_come_;
  std::optional<faults::FaultPlayer> faults_;
  std::vector<faults::FaultPlayed> played_;
  std::vector<NodeReport> remains_;
  std::optional<sim::JobFailure> failure_;
  std::uint64_t happened_ = 0;  // faults so far
  sim::JobFacts known_;
  JobReport report_;
  PicoInstant begun_{};
  Instant next_progress_;  // of the system's clock
  bool changed_ = false;
  bool stopping_ = false;  // all are told to end the stream
  bool interrupted_ = false;
  bool cut_off_ = false;  // nodes that have not finished count, too
  bool retired_ = false;
};

}  // namespace weft::stream
