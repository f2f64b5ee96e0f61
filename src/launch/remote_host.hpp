// SPDX-License-Identifier: Apache-2.0
// RemoteHost: another machine, reached by ssh. An agent there (launch/agent) carries out requests.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "launch/frame_pipe.hpp"
#include "launch/host.hpp"
#include "launch/signal_file.hpp"

namespace weft {

struct RemoteOptions {
  std::string host;
  std::vector<std::string> ssh;  ///< ssh and its options; weft appends host and command
  std::string weft;              ///< its path there
  std::string program;           ///< ProgramDescription; its lease ends before `patience` does
  Duration patience = Duration::seconds(30);  ///< a host that is silent for longer is lost
};

/// Connects at the first start of a process there, and again at the first start after a loss. Owns
/// ssh, which does not outlive it.
class RemoteHost final : public Host {
 public:
  /// `signals` outlive it.
  RemoteHost(RemoteOptions options, const SignalFile& signals)
      : options_(std::move(options)), signals_(signals) {}
  ~RemoteHost() override;

  const std::string& name() const override { return options_.host; }
  Result<void> start(std::uint32_t rank, const std::string& description) override;
  void grow(std::uint32_t ranks, const std::vector<std::string>& command) override;
  void kill(std::uint32_t rank) override;
  void send(std::uint32_t rank, char kind, std::string_view text) override;
  void signal_all(int number) override;
  void finish() override;
  bool is_finished() const override { return ssh_ <= 0; }
  void add_to(std::vector<pollfd>& files) const override;
  Instant clear_at() const override { return clear_at_; }
  Instant next_deadline() const override;
  void step(Instant now, HostListener& listener) override;

 private:
  Result<void> connect();
  [[noreturn]] void execute(int socket) const;
  void on_frame(FramePipe::Frame frame, HostListener& listener);
  void look_after(Instant now);
  void await_end(Instant now);
  void on_hello(const FramePipe::Frame& frame, HostListener& listener);
  void end_ssh(std::string why);
  void lose(int status, HostListener& listener);

  RemoteOptions options_;
  const SignalFile& signals_;
  std::unique_ptr<FramePipe> pipe_;
  pid_t ssh_ = -1;
  bool up_ = false;         // the agent has answered
  bool finishing_ = false;  // no process is expected to be there
  bool is_killed_ = false;  // SIGKILL went to its processes
  std::string why_;         // reason for giving it up
  /// Processes to start when the agent has answered.
  std::vector<std::pair<std::uint32_t, std::string>> starts_;
  std::map<std::uint32_t, std::uint32_t> unanswered_starts_;  // by rank
  std::vector<std::uint32_t> kills_;                          // of starts_, to kill at once
  std::vector<std::pair<std::uint32_t, std::string>> grown_;  // for each agent: ranks, command
  std::int64_t owed_output_ = 0;  // bytes received but not yet acknowledged to the agent
  Instant heard_{};
  Instant next_beat_{};
  Instant clear_at_{};
  Instant kill_at_ = Instant::never();  // of ssh, unless it has ended
};

}  // namespace weft
