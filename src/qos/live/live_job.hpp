// SPDX-License-Identifier: Apache-2.0
// LiveJob: a workload as real processes, each in a host of a testbed, that talk to each other over
// TCP and tell of their iterations; their service levels change while they run.
#pragma once

#include <poll.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "jobs/workload_job.hpp"
#include "process/job_link.hpp"
#include "runtime/directory.hpp"
#include "runtime/process_set.hpp"
#include "testbed/testbed.hpp"
#include "weft/result.hpp"

namespace weft::qos {

/// One thread, which outlives it. Its processes end with it: they have nothing to finish.
class LiveJob {
 public:
  /// Process r runs in `hosts[r]`. Job and testbed outlive it.
  LiveJob(const jobs::WorkloadJob& job, std::vector<std::uint32_t> hosts,
          const testbed::Testbed& testbed);

  /// Forks the processes. Errors: none or no descriptors are left.
  Result<void> start();
  /// Takes the messages of processes, and passes on messages to them. Never blocks. Errors: a
  /// process that has ended or cannot go on, with its reason.
  Result<void> hear();
  /// Appends the descriptors to wait for until there are messages.
  void add_to(std::vector<pollfd>& files) const { processes_.add_to(files); }

  /// The last report of each process.
  const std::vector<JobProgress>& progress() const { return progress_; }
  /// All processes have ended an iteration.
  bool is_under_way() const;
  /// Sets the levels of messages that processes send once they receive them.
  void set_levels(const ProcessLevels& levels);

 private:
  int run_process(std::uint32_t rank, Channel channel) const;
  void take(std::uint32_t rank, const Channel::Message& message);

  const jobs::WorkloadJob& job_;
  std::vector<std::uint32_t> hosts_;
  const testbed::Testbed& testbed_;
  std::unique_ptr<sim::Program> program_;
  JobDescription description_;
  ProcessSet processes_;
  Directory directory_;
  std::vector<JobProgress> progress_;
  std::string failure_;  // of a process, in its words
};

}  // namespace weft::qos
