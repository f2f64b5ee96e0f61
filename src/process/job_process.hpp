// SPDX-License-Identifier: Apache-2.0
// JobProcess: this process as one of a job that a launcher started, or as a job of its own.
#pragma once

#include <memory>

#include "process/group.hpp"
#include "process/job_link.hpp"
#include "process/messenger.hpp"
#include "process/real_waiter.hpp"
#include "process/spill_memory.hpp"
#include "runtime/manager/manager_session.hpp"
#include "weft/program.hpp"

namespace weft {

class JobProcess final : public Process {
 public:
  /// As the environment says. Errors name what it says and the fix.
  static Result<std::unique_ptr<JobProcess>> join();
  ~JobProcess() override;

  Communicator& world() override { return *world_; }
  Incarnation incarnation() const override { return job_.incarnation; }
  Duration elapsed() const override { return monotonic_now() - begun_; }
  void compute(Duration) override {}

  /// Leaves in agreement with all others. Errors: somebody is gone for good, the job is aborted.
  Result<void> leave();
  /// Tells the launcher why this process cannot go on.
  void fail(const std::string& why);
  /// All programs of the job are over.
  bool over() const { return messenger_->is_over(); }

 private:
  JobProcess() = default;
  Result<void> describe_by_manager();
  Result<void> open();
  Result<void> meet();

  JobDescription job_;
  std::unique_ptr<JobLink> link_;            // of weft run
  std::unique_ptr<ManagerSession> manager_;  // of another launcher
  std::unique_ptr<Fabric> fabric_;
  std::unique_ptr<SpillMemory> spill_;
  std::unique_ptr<RealWaiter> waiter_;
  std::unique_ptr<Messenger> messenger_;
  std::unique_ptr<Group> world_;
  Instant begun_{};
};

}  // namespace weft
