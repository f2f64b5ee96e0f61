// SPDX-License-Identifier: Apache-2.0
#include "launch/launch.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "fabric/choice/fabric_choice.hpp"
#include "process/job_link.hpp"
#include "runtime/channel.hpp"
#include "runtime/clock.hpp"

namespace weft {
namespace {

/// Processes that were told to go have so long for it.
constexpr Duration grace = Duration::seconds(2);
/// What fabrics accept.
constexpr Duration shortest_peer_timeout = Duration::seconds(1);
constexpr int cannot_execute = 127;

std::string describe_end(int status) {
  if (WIFSIGNALED(status)) {
    return fmt::format("was ended by signal {} ({})", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
  }
  return fmt::format("ended with code {}", WEXITSTATUS(status));
}

int code_of(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/// The signals of a launcher, as a descriptor, while it lives.
class SignalFile {
 public:
  Result<void> open() {
    sigemptyset(&taken_);
    for (const int s : {SIGCHLD, SIGINT, SIGTERM}) sigaddset(&taken_, s);
    ::sigprocmask(SIG_BLOCK, &taken_, &before_);
    file_ = ::signalfd(-1, &taken_, SFD_CLOEXEC | SFD_NONBLOCK);
    if (file_ >= 0) return {};
    return Error{ErrorCode::exhausted,
                 fmt::format("cannot wait for processes: {}", std::strerror(errno))};
  }
  ~SignalFile() {
    if (file_ < 0) return;
    ::close(file_);
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  int descriptor() const { return file_; }
  /// What a child gets back.
  const sigset_t& before() const { return before_; }
  /// The next one; 0: none.
  int next() const {
    signalfd_siginfo info{};
    return ::read(file_, &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
  }

 private:
  int file_ = -1;
  sigset_t taken_{}, before_{};
};

class Launcher {
 public:
  Launcher(const LaunchOptions& options, const std::function<void(const std::string&)>& say)
      : options_(options), say_(say), secret_(make_job_secret()), processes_(options.processes) {}
  ~Launcher() {
    for (const Process& p : processes_) {
      if (p.pid > 0) ::kill(p.pid, SIGKILL);
    }
    for (const Process& p : processes_) {
      if (p.pid > 0) ::waitpid(p.pid, nullptr, 0);
    }
  }

  Result<LaunchOutcome> run() {
    if (auto opened = signals_.open(); !opened) return std::move(opened).error();
    for (std::uint32_t i = 0; i < processes_.size(); ++i) {
      if (auto started = start(i); !started) return std::move(started).error();
    }
    while (running() > 0) {
      wait();
      while (const int signal = signals_.next()) {
        if (signal != SIGCHLD) interrupt(signal);
      }
      for (std::uint32_t i = 0; i < processes_.size(); ++i) hear(i);
      if (auto reaped = reap(); !reaped) return std::move(reaped).error();
      if (monotonic_now() >= kill_at_) kill_all(SIGKILL);
    }
    return outcome_;
  }

 private:
  struct Process {
    pid_t pid = -1;
    std::uint32_t incarnation = 0;
    Channel channel;
    std::string address;
  };

  std::size_t running() const {
    return static_cast<std::size_t>(std::count_if(processes_.begin(), processes_.end(),
                                                  [](const Process& p) { return p.pid > 0; }));
  }

  JobDescription description(std::uint32_t index) const {
    return {.self = NodeId(index),
            .nodes = options_.processes,
            .nodes_here = options_.processes,
            .incarnation = Incarnation(processes_[index].incarnation),
            .fabric = options_.fabric,
            .link = options_.link,
            .job_id = secret_.job_id,
            .secret = secret_.secret,
            .retain = options_.restart,
            .peer_timeout = std::max(options_.timeout, shortest_peer_timeout),
            .timeout = options_.restart ? Duration::max() : options_.timeout,
            .inbox = options_.inbox,
            .outbox = options_.outbox,
            .spill = options_.spill,
            .eager = options_.eager};
  }

  Result<void> start(std::uint32_t index) {
    auto ends = Channel::pair();
    if (!ends) return std::move(ends).error();
    auto& [ours, theirs] = *ends;
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid < 0) {
      return Error{ErrorCode::exhausted, fmt::format("cannot start process {} of {}: {}", index + 1,
                                                     options_.processes, std::strerror(errno))};
    }
    if (pid == 0) execute(parent, theirs.descriptor());
    Process& p = processes_[index];
    p = Process{.pid = pid, .incarnation = p.incarnation + 1, .channel = std::move(ours)};
    (void)p.channel.send(launch_message::job, to_text(description(index)));
    return {};
  }

  /// In the child.
  [[noreturn]] void execute(pid_t parent, int channel) {
    // A process must not outlive the job, whatever ends it.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    ::sigprocmask(SIG_SETMASK, &signals_.before(), nullptr);
    ::fcntl(channel, F_SETFD, 0);
    ::setenv(channel_variable, std::to_string(channel).c_str(), 1);
    std::vector<char*> arguments;
    for (const std::string& a : options_.command) arguments.push_back(const_cast<char*>(a.c_str()));
    arguments.push_back(nullptr);
    ::execvp(arguments[0], arguments.data());
    const std::string why =
        fmt::format("weft run: cannot start '{}': {}\n", arguments[0], std::strerror(errno));
    (void)!::write(STDERR_FILENO, why.data(), why.size());
    ::_exit(cannot_execute);
  }

  void wait() {
    std::vector<pollfd> files = {{.fd = signals_.descriptor(), .events = POLLIN, .revents = 0}};
    for (const Process& p : processes_) {
      if (p.channel.open()) {
        files.push_back({.fd = p.channel.descriptor(), .events = POLLIN, .revents = 0});
      }
    }
    int timeout_ms = -1;
    if (kill_at_ != Instant::never()) {
      timeout_ms =
          std::max<int>(0, static_cast<int>((kill_at_ - monotonic_now()).ticks() / 1'000'000) + 1);
    }
    (void)::poll(files.data(), files.size(), timeout_ms);
  }

  void hear(std::uint32_t index) {
    Process& p = processes_[index];
    while (p.channel.open()) {
      auto message = p.channel.receive();
      if (!message) return;
      switch (message->kind) {
        case launch_message::address:
          p.address = std::move(message->text);
          introduce(index);
          break;
        case launch_message::over:
          over_ = true;
          for (Process& each : processes_) {
            if (each.channel.open()) (void)each.channel.send(launch_message::over, "");
          }
          break;
        case launch_message::failed:
          break;  // it has said so itself; its end follows
        default:
          break;
      }
    }
  }

  /// Tells a new life of a process of all others, and them of it.
  void introduce(std::uint32_t index) {
    const auto line = [&](std::uint32_t i) {
      return fmt::format("{} {} {}\n", i, processes_[i].incarnation, processes_[i].address);
    };
    std::string all;
    for (std::uint32_t i = 0; i < processes_.size(); ++i) {
      if (i == index || processes_[i].address.empty()) continue;
      all += line(i);
      if (processes_[i].channel.open()) {
        (void)processes_[i].channel.send(launch_message::peers, line(index));
      }
    }
    (void)processes_[index].channel.send(launch_message::peers, all);
  }

  Result<void> reap() {
    int status = 0;
    for (pid_t pid; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      const auto found = std::find_if(processes_.begin(), processes_.end(),
                                      [&](const Process& p) { return p.pid == pid; });
      if (found == processes_.end()) continue;
      const auto index = static_cast<std::uint32_t>(found - processes_.begin());
      hear(index);  // what it said before it ended
      found->pid = -1;
      found->channel.close();
      if (auto handled = on_end(index, status); !handled) return handled;
    }
    return {};
  }

  Result<void> on_end(std::uint32_t index, int status) {
    // Once all programs are over, nothing is missing whatever ends a process.
    if (code_of(status) == 0 || over_) return {};
    const bool can_start = !(WIFEXITED(status) && WEXITSTATUS(status) == cannot_execute);
    if (options_.restart && can_start && !ending_ && outcome_.restarts < options_.most_restarts) {
      ++outcome_.restarts;
      say_(fmt::format("rank {} {}; starting it anew", index, describe_end(status)));
      return start(index);
    }
    if (outcome_.code == 0) outcome_.code = code_of(status);
    if (ending_) return {};
    say_(fmt::format("rank {} {}", index, describe_end(status)));
    // A program that failed by itself takes the others with it. One that was killed is waited for,
    // until those that need it give up and say what they needed.
    if (options_.restart || WIFEXITED(status)) {
      end_all(fmt::format("rank {} {}", index, describe_end(status)));
    }
    return {};
  }

  void interrupt(int signal) {
    if (outcome_.code == 0) outcome_.code = 128 + signal;
    kill_all(signal);
    ending_ = true;
    kill_at_ = std::min(kill_at_, monotonic_now() + grace);
  }

  void end_all(const std::string& why) {
    ending_ = true;
    for (Process& p : processes_) {
      if (p.channel.open()) (void)p.channel.send(launch_message::abort, why);
    }
    kill_at_ = std::min(kill_at_, monotonic_now() + grace);
  }

  void kill_all(int signal) {
    for (const Process& p : processes_) {
      if (p.pid > 0) ::kill(p.pid, signal);
    }
  }

  const LaunchOptions& options_;
  const std::function<void(const std::string&)>& say_;
  const JobSecret secret_;
  SignalFile signals_;
  std::vector<Process> processes_;
  LaunchOutcome outcome_;
  Instant kill_at_ = Instant::never();
  bool over_ = false;
  bool ending_ = false;
};

}  // namespace

Result<LaunchOutcome> launch(const LaunchOptions& options,
                             const std::function<void(const std::string&)>& say) {
  return Launcher(options, say).run();
}

}  // namespace weft
