// SPDX-License-Identifier: Apache-2.0
// LocalHost: the machine that the launcher itself is on.
#pragma once

#include <csignal>
#include <map>
#include <string>
#include <vector>

#include "launch/host.hpp"
#include "launch/process_output.hpp"
#include "launch/signal_file.hpp"
#include "process/outcome_memory.hpp"
#include "runtime/process_set.hpp"

namespace weft {

class LocalHost final : public Host {
 public:
  /// `ranks`: of the whole job. `restarts`: a rank may have several lives, so that their output
  /// goes through the launcher, and their outcomes are kept. The command and signals outlive it.
  LocalHost(std::uint32_t ranks, const std::vector<std::string>& command, const SignalFile& signals,
            bool restarts)
      : processes_(ranks),
        ranks_at_first_(ranks),
        command_(command),
        signals_(signals),
        restarts_(restarts) {}

  /// There are more ranks, and those from the last one so far on run `command`.
  void grow(std::uint32_t ranks, const std::vector<std::string>& command) {
    processes_.grow(ranks);
    spawned_.push_back({.end = ranks, .command = command});
  }
  const std::string& name() const override { return name_; }
  Result<void> start(std::uint32_t rank, const std::string& description) override;
  void send(std::uint32_t rank, char kind, std::string_view text) override;
  void signal_all(int number) override { processes_.signal_all(number); }
  void kill(std::uint32_t rank) { processes_.signal(rank, SIGKILL); }
  void add_to(std::vector<pollfd>& files) const override;
  void step(Instant now, HostListener& listener) override;

 private:
  struct Kept {
    ProcessOutput output;
    HeldOutcomes outcomes;
  };
  struct Spawned {
    std::uint32_t end = 0;  // behind the last rank
    std::vector<std::string> command;
  };
  void hear(std::uint32_t rank, HostListener& listener);
  const std::vector<std::string>& command_of(std::uint32_t rank) const;

  ProcessSet processes_;
  const std::uint32_t ranks_at_first_;
  const std::vector<std::string>& command_;
  std::vector<Spawned> spawned_;  // in the order of ranks
  const SignalFile& signals_;
  const bool restarts_;
  bool output_full_ = false;
  std::string name_;
  std::vector<std::uint32_t> started_;  // ranks, in order and each once
  std::map<std::uint32_t, Kept> kept_;  // of ranks, if they may have several lives
};

}  // namespace weft
