// SPDX-License-Identifier: Apache-2.0
// SimulatedRank: a rank of a program on a simulated host, and the lives that have it one after the
// other. Turns the simulation's events into a process's going on.
#pragma once

#include <functional>
#include <memory>

#include "process/job_link.hpp"
#include "process/simulated/counted_fabric.hpp"
#include "process/simulated/rank_times.hpp"
#include "process/spill_memory.hpp"
#include "sim/job/hosted_process.hpp"
#include "sim/scenario/scenario.hpp"

namespace weft {

class HostedLife;
class SimulatedRank;

using LifeMaker = std::function<std::unique_ptr<HostedLife>(SimulatedRank& rank,
                                                            std::unique_ptr<SpillMemory> spill)>;

/// The data that the processes of a job share. Owned by the job, outlives them.
struct ProgramPlace {
  const sim::Scenario& scenario;
  const JobDescription& job;  ///< the same for all ranks
  /// Makes a rank's next life. Throws std::bad_alloc when there is no memory for a stack.
  LifeMaker make_life;
  bool over = false;  ///< the launcher has said that all programs are over
  /// The first process says so to the launcher.
  std::function<void()> on_over = {};
  /// A process has ended with that code.
  std::function<void(NodeId rank, int code)> on_end = {};
};

class SimulatedRank final : public sim::HostedProcess {
 public:
  SimulatedRank(ProgramPlace& shared, const sim::ProcessPlace& place);
  ~SimulatedRank() override;

  /// The next life, without a program as yet: it may be introduced to others.
  void open();
  /// Starts the program. Errors: no memory for its stack, a directory that cannot be written to.
  Result<void> begin();
  /// It looks whether there is news, during any wait.
  void wake() { wake_at(now()); }

  /// Returns its life if that waits, and is not paused; else null.
  const HostedLife* waiting() const;
  Fabric& fabric() { return *fabric_; }
  /// Returns how often its fabric has said that there is something.
  std::uint64_t calls() const { return calls_; }
  const RankTimes& times() const { return times_; }

 private:
  friend class HostedLife;

  PicoInstant ready_at() const;
  bool can_work() const override { return life_ != nullptr; }
  void turn() override;
  void close() override;

  ProgramPlace& shared_;
  RankTimes times_;
  std::uint64_t calls_ = 0;
  std::unique_ptr<CountedFabric> fabric_;  // null: not alive
  std::unique_ptr<HostedLife> life_;       // null: it has not begun
};

}  // namespace weft
