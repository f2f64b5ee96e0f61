// SPDX-License-Identifier: Apache-2.0
// ProgramInWorld: the processes of one program in a simulation, and their deaths and restarts,
// otherwise the work of a launcher.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "faults/fault.hpp"
#include "process/simulated/program_report.hpp"
#include "process/simulated/simulated_program.hpp"
#include "process/simulated/simulated_rank.hpp"
#include "sim/engine/agent.hpp"
#include "sim/job/hosted_job.hpp"
#include "sim/job/job.hpp"

namespace weft {

/// All arguments taken by reference outlive it. It runs alone (`run`), or as one of the jobs of a
/// sim::JobDriver, in a network that is whole.
class ProgramInWorld final : public sim::Job, private sim::HostedJob, private sim::Agent {
 public:
  /// Rank n runs on host `hosts[n]`.
  ProgramInWorld(sim::World& world, std::vector<std::uint32_t> hosts, const JobDescription& job,
                 LifeMaker make_life, const std::function<void(const std::string&)>& say);

  /// Its processes connect from now on; faults count from when all have and their programs begin.
  void begin(std::vector<faults::Fault> faults);
  /// Alone, once it has begun: until all processes are over.
  Result<void> run();
  /// Once it is over.
  SimulatedOutcome outcome();

  const std::string& name() const override { return name_; }
  sim::JobFacts facts() const override;
  std::optional<sim::JobFailure> failure() const override;
  void learn(const sim::JobFacts&) override {}
  /// Begins the programs when all processes are connected. Errors: they wait for ever, or for
  /// longer than programs.limit.
  Result<void> look_around() override;
  bool over() const override { return stopped_; }
  void interrupt() override;
  Result<void> conclude(sim::Exchange&) override { return {}; }
  void retire() override;
  PicoDuration slice() const override { return between_looks; }

 private:
  /// How far the simulation goes before somebody looks whether anything happens any more.
  static constexpr PicoDuration between_looks = PicoDuration::microseconds(10);
  enum Timer : std::uint16_t { fault_timer, over_timer, end_timer, restart_timer };

  sim::Engine& engine() { return world().engine(); }
  void set_timer(PicoDuration in, Timer timer, std::uint64_t payload = 0) {
    world().agents().set_shared_timer(agent_, now() + in, timer, payload);
  }

  bool is_connected() const;
  Result<void> begin_programs();
  void introduce(std::uint32_t to, std::uint32_t about);
  void start_anew(std::uint32_t rank);
  void stop_all();
  void end_with(int code);
  void on_end(std::uint32_t rank, int code);
  void on_death(std::uint32_t rank, int code, const std::string& how);
  void finish(std::uint32_t rank);
  void say_over();
  /// All have waited without a message for longer than any has patience, and will for ever, though
  /// their waits have deadlines after which they wait again. Looks once in a simulated second.
  bool is_still();
  Error stuck() const;
  /// How many processes wait, and which, in which calls. Empty: none does. `all_do`: those that are
  /// alive.
  std::string who_waits(bool all_do) const;
  void next_fault();
  void play_faults();
  void on_timer(std::uint16_t detail, std::uint64_t payload) override;

  // FaultTarget
  Result<void> kill(std::uint32_t rank) override;
  Result<void> restart(std::uint32_t rank) override;
  sim::HostedProcess& process(std::uint32_t rank) override { return *ranks_[rank]; }

  const std::string name_ = "program";
  const JobDescription& job_;
  const std::function<void(const std::string&)>& say_;
  ProgramPlace shared_;
  std::uint32_t agent_;
  std::vector<std::unique_ptr<SimulatedRank>> ranks_;
  std::vector<bool> over_;  // by rank: nothing more is expected of it
  std::vector<faults::Fault> faults_to_come_;
  std::optional<faults::FaultPlayer> faults_;  // none: the programs have not begun
  std::vector<ProgramReport::Fault> played_;
  std::optional<Error> failure_;
  PicoInstant begun_{};
  PicoInstant ended_{};
  PicoInstant limit_ = PicoInstant::never();
  PicoInstant next_look_for_stillness_{};
  std::uint32_t crashes_ = 0;
  std::uint32_t restarts_ = 0;
  int code_ = 0;
  bool decided_ = false;  // node 0 has said that all programs are over
  bool ending_ = false;
  bool stopped_ = false;
};

}  // namespace weft
