// SPDX-License-Identifier: Apache-2.0
// ProcessSet: the processes that this one forked for a job, each with a channel. None outlives it.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/channel.hpp"
#include "weft/result.hpp"

namespace weft {

/// Processes are numbered by their places, from 0. One thread, and the same one for every start:
/// the kernel ends a process with the thread that forked it.
class ProcessSet {
 public:
  explicit ProcessSet(std::uint32_t places) : processes_(places) {}
  /// Kills processes that still run, and waits for them.
  ~ProcessSet();
  /// There are more places, where no process runs.
  void grow(std::uint32_t places) { processes_.resize(places); }
  ProcessSet(const ProcessSet&) = delete;
  ProcessSet& operator=(const ProcessSet&) = delete;

  /// Runs in the forked process, with its end of the channel; its value is the exit code.
  using Body = std::function<int(Channel)>;
  /// Forks a process for a place where none runs. It is killed when this one ends in any way, and
  /// has none of the others' channels. Errors: no processes or descriptors left.
  Result<void> start(std::uint32_t place, const Body& body);

  /// Kills all, and waits for their ends.
  void end_all();

  bool has(pid_t pid) const;
  bool runs(std::uint32_t place) const { return processes_[place].pid > 0; }
  std::uint32_t running() const;
  /// -1: none runs there.
  pid_t pid(std::uint32_t place) const { return processes_[place].pid; }
  /// Open while the process runs and has not closed its end.
  Channel& channel(std::uint32_t place) { return processes_[place].channel; }
  void signal(std::uint32_t place, int number) const;
  void signal_all(int number) const;

  /// Calls `on_message` for everything that a process has said. Never blocks.
  void hear(std::uint32_t place, const std::function<void(Channel::Message)>& on_message);
  /// Places whose processes have ended, with their status of waitpid(2); their channels are still
  /// there, for earlier messages, until the place is started again.
  struct Ended {
    std::uint32_t place;
    int status;
  };
  std::vector<Ended> reap();
  /// Writes as many queued bytes of channels as the processes take now. Never blocks.
  void flush();
  /// Appends the channels that are open, to wait for: until a message has come, or queued ones can
  /// be written.
  void add_to(std::vector<pollfd>& files) const;

 private:
  struct Process {
    pid_t pid = -1;
    Channel channel;
  };
  std::vector<Process> processes_;
};

}  // namespace weft
