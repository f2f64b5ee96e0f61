// SPDX-License-Identifier: Apache-2.0
// JobProcess: this process as one of a job that a launcher started, or as a job of its own.
#pragma once

#include <memory>

#include "core/determinant/outcome_log.hpp"
#include "fabric/mpi/mpi.hpp"
#include "process/job_file_watch.hpp"
#include "process/job_link.hpp"
#include "process/joined_process.hpp"
#include "process/keeping_watch.hpp"
#include "process/launcher_question.hpp"
#include "process/messenger.hpp"
#include "process/outcome_memory.hpp"
#include "process/process_group.hpp"
#include "process/proxy_fabric.hpp"
#include "process/real_waiter.hpp"
#include "process/spill_memory.hpp"
#include "runtime/manager/manager_session.hpp"

namespace weft {

/// The description of a process's job, and its origin.
struct JobInvitation {
  JobDescription job;
  std::unique_ptr<JobLink> link;            ///< of weft run
  std::unique_ptr<ManagerSession> manager;  ///< of another launcher
  std::unique_ptr<JobFileWatch> file;       ///< has the addresses, with or without a launcher
  std::unique_ptr<MpiFabric> mpi;           ///< of an MPI, which is its launcher's client itself
  std::unique_ptr<ProxyFabric> proxy;       ///< of a simulation that has this process's rank
  OutcomeMemory outcomes;                   ///< of `weft run --restart`, for `repeat_outcomes`
  /// Processes may be started while the job runs (`JobDescription::room`); those of weft's own
  /// programs have none.
  bool may_grow = false;
  /// Returns the name of the call in which the program waits, or null. A simulation shows it when
  /// the program does not end.
  const char* (*waits_in)() = nullptr;

  /// The job that the environment describes; a job of this process alone if it describes none.
  /// Errors name the variable, its value and the fix.
  /// `is_of_mpi`: it is a program of MPI, which cannot have an MPI as its fabric.
  static Result<JobInvitation> take(bool is_of_mpi = false);
};

class JobProcess final : public JoinedProcess {
 public:
  static Result<std::unique_ptr<JobProcess>> join(JobInvitation invitation);
  ~JobProcess() override;

  Communicator& world() override { return *world_; }
  Incarnation incarnation() const override {
    return life_ != nullptr ? life_->incarnation : job_.incarnation;
  }
  Duration elapsed() const override { return now() - begun_; }
  /// By the clock of this process: in a simulation, the simulated one.
  Instant now() const { return real_waiter_ != nullptr ? monotonic_now() : waiter_->now(); }
  void compute(Duration) override {}
  void mark_progress() override;
  /// For what is more than `world` offers. Valid as long as this.
  Messenger& messenger() { return *messenger_; }
  std::uint32_t size() const { return job_.nodes; }
  const JobDescription& job() const { return job_; }

  Result<bool> may_begin() override;
  Result<void> leave() override {
    return leave(false, [] {});
  }
  /// `is_alone`: this process communicates with none but those of its world, which may leave when
  /// all of them have returned, independently of the rest of the job. `serve` is called again and
  /// again until all programs are over.
  Result<void> leave(bool is_alone, const std::function<void()>& serve);
  /// Asks the launcher, one question at a time. The answer comes while this process lets time pass.
  /// False: no launcher is there that would answer.
  bool ask(const LauncherQuestion& question);
  std::optional<Result<LauncherAnswer>> take_answer();
  /// Tells the launcher that the program exits by itself, where it has not left.
  void tell_exit() {
    if (link_ != nullptr) link_->tell(launch_message::exits, "");
  }
  void fail(const std::string& why) override;
  /// For a program whose lives repeat themselves from the beginning: tells the launcher so, and
  /// returns the log of its outcomes. Null: it has one life, or nobody keeps its log. Valid as long
  /// as this. Errors: the log of its earlier lives is damaged, was full, or has no order.
  Result<determinant::OutcomeLog*> repeat_outcomes();
  /// One of the last two of these: a life in which all processes begin again does better.
  bool has_useless_outcomes() const {
    using determinant::Trouble;
    const Trouble trouble = outcome_log_ != nullptr ? outcome_log_->trouble() : Trouble::none;
    return trouble == Trouble::unordered || trouble == Trouble::incomplete;
  }
  /// The log and its memory, which the caller keeps when this process has left. There may be none.
  struct Outcomes {
    OutcomeMemory memory;
    std::unique_ptr<determinant::OutcomeLog> log;
  };
  Outcomes release_outcomes() { return {std::move(outcomes_), std::move(outcome_log_)}; }
  /// What this process remembers when all begin again from nothing. Null: it has no log.
  determinant::KeptNumbers* kept_numbers() { return kept_numbers_.get(); }
  /// Earlier lives of this process had another log, on a host that is gone. Those that begin from
  /// nothing need no log of an earlier one.
  bool has_lost_outcomes() const { return job_.attempt == 0 && has_lost_lives(); }
  /// What this life has sent differs from what an earlier one sent.
  bool has_diverged() const;
  /// The same as `fail` where no other life can do better: the launcher says why and ends the job;
  /// or, if this life has not repeated an earlier one, lets all processes begin anew. False if the
  /// process has no launcher.
  bool fail_for_good(const std::string& why, bool has_diverged = false);
  /// When this life has not repeated an earlier one, all processes begin anew.
  bool begins_anew_if_diverged() const {
    return link_ != nullptr && job_.file.empty() && outcomes_.is_there();
  }
  /// `weft run` started it, and watches its processes.
  bool is_launched() const { return link_ != nullptr; }

 private:
  explicit JobProcess(JobInvitation invitation);
  Result<void> open();
  Result<void> open_fabric_for_job();
  Result<void> meet();
  void tell_progress(Instant now);
  /// Earlier lives had another log, also if this one needs none.
  bool has_lost_lives() const;
  void watch_keeping();
  /// An earlier life kept messages: its sends of long ones were over at once.
  void copy_while_it_repeats();

  JobDescription job_;
  std::unique_ptr<JobLink> link_;
  std::unique_ptr<ManagerSession> manager_;
  std::unique_ptr<JobFileWatch> file_;
  std::shared_ptr<const OwnLife> life_;  // in a job by a file
  std::unique_ptr<Fabric> fabric_;
  OutcomeMemory outcomes_;
  std::unique_ptr<determinant::KeptNumbers> kept_numbers_;
  std::unique_ptr<determinant::OutcomeLog> outcome_log_;
  std::unique_ptr<SpillMemory> spill_;
  std::unique_ptr<RealWaiter> real_waiter_;  // null: the simulation lets time pass
  Waiter* waiter_ = nullptr;
  std::unique_ptr<KeepingWatch> keeping_;  // null: messages are not kept, or however many they are
  std::unique_ptr<Messenger> messenger_;
  std::unique_ptr<ProcessGroup> world_;
  std::uint64_t iterations_ = 0;
  Instant tell_progress_again_{};  // not before
  Instant begun_{};
};

}  // namespace weft
