// SPDX-License-Identifier: Apache-2.0
// LocalHost: the machine that the launcher itself is on.
#pragma once

#include <string>
#include <vector>

#include "launch/host.hpp"
#include "launch/signal_file.hpp"
#include "runtime/process_set.hpp"

namespace weft {

class LocalHost final : public Host {
 public:
  /// `ranks`: of the whole job. The command and signals outlive it.
  LocalHost(std::uint32_t ranks, const std::vector<std::string>& command, const SignalFile& signals)
      : processes_(ranks), command_(command), signals_(signals) {}

  const std::string& name() const override { return name_; }
  Result<void> start(std::uint32_t rank, const std::string& description) override;
  void send(std::uint32_t rank, char kind, std::string_view text) override;
  void signal_all(int number) override { processes_.signal_all(number); }
  void add_to(std::vector<pollfd>& files) const override;
  void step(Instant now, HostListener& listener) override;

 private:
  void hear(std::uint32_t rank, HostListener& listener);

  ProcessSet processes_;
  const std::vector<std::string>& command_;
  const SignalFile& signals_;
  std::string name_;
  std::vector<std::uint32_t> started_;  // ranks, in order and each once
};

}  // namespace weft
