// SPDX-License-Identifier: Apache-2.0
// LocalHost: the machine that the launcher itself is on.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <map>
#include <string>
#include <vector>

#include "base/descriptor.hpp"
#include "launch/commands.hpp"
#include "launch/host.hpp"
#include "launch/orphans.hpp"
#include "launch/process_output.hpp"
#include "launch/signal_file.hpp"
#include "process/outcome_memory.hpp"
#include "runtime/process_set.hpp"

namespace weft {

class LocalHost final : public Host {
 public:
  /// `ranks`: of the whole job. `restarts`: a rank may have several lives, so that their output
  /// goes through the launcher, and their outcomes are kept. Signals outlive it.
  LocalHost(std::uint32_t ranks, const std::vector<std::string>& command, const SignalFile& signals,
            bool restarts)
      : processes_(ranks),
        commands_(ranks, command),
        signals_(signals),
        restarts_(restarts),
        input_begins_(restarts ? place_in_input() : -1) {}

  ~LocalHost() override;

  void grow(std::uint32_t ranks, const std::vector<std::string>& command) override {
    processes_.grow(ranks);
    commands_.add(ranks, command);
  }
  const std::string& name() const override { return name_; }
  Result<void> start(std::uint32_t rank, const std::string& description) override;
  void send(std::uint32_t rank, char kind, std::string_view text) override;
  void signal_all(int number) override;
  void kill(std::uint32_t rank) override { processes_.signal(rank, SIGKILL); }
  void finish() override;
  bool is_finished() const override;
  Instant next_deadline() const override { return is_finished() ? Instant::never() : give_up_at_; }
  void add_to(std::vector<pollfd>& files) const override;
  void step(Instant now, HostListener& listener) override;

 private:
  struct Kept {
    ProcessOutput output;
    HeldOutcomes outcomes;
  };
  void hear(std::uint32_t rank, HostListener& listener);
  void read_outputs(HostListener& listener);
  /// Where the programs' input begins in the file that it is; -1: it is no file.
  static off_t place_in_input();
  Descriptor open_input(std::uint32_t rank) const;

  Orphans orphans_;
  ProcessSet processes_;
  Commands commands_;
  const SignalFile& signals_;
  const bool restarts_;
  const off_t input_begins_;
  bool output_full_ = false;
  Instant give_up_at_ = Instant::never();  // output of processes that are left behind
  std::string name_;
  std::vector<std::uint32_t> started_;  // ranks, in order and each once
  std::map<std::uint32_t, Kept> kept_;  // of ranks, if they may have several lives
};

}  // namespace weft
