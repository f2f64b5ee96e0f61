// SPDX-License-Identifier: Apache-2.0
#include "testbed/host_runner.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <numeric>
#include <utility>

#include "base/descriptor.hpp"
#include "base/make_error.hpp"
#include "base/mpi_launcher.hpp"
#include "base/number_text.hpp"
#include "base/process_end.hpp"
#include "base/split.hpp"
#include "base/system_error.hpp"
#include "testbed/clock.hpp"
#include "testbed/line_forwarder.hpp"

extern char** environ;

namespace weft::testbed {
namespace {

constexpr Duration kGrace = Duration::seconds(2);
constexpr int kCannotRun = 127;

// SIGINT and SIGTERM as something to poll, for as long as it exists.
class Signals {
 public:
  Signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    ::sigprocmask(SIG_BLOCK, &set, &before_);
    descriptor_ = Descriptor(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~Signals() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int descriptor() const { return descriptor_.get(); }
  const sigset_t& before() const { return before_; }
  /// The number of one that came; 0 when none did.
  int take() {
    signalfd_siginfo info{};
    const bool came = ::read(descriptor_.get(), &info, sizeof info) == sizeof info;
    return came ? static_cast<int>(info.ssi_signo) : 0;
  }

 private:
  sigset_t before_{};
  Descriptor descriptor_;
};

// The command's process in one host.
struct Process {
  std::uint32_t host = 0;
  std::uint32_t rank = 0;
  pid_t pid = 0;  // 0: not running
  Descriptor handle;
  LineForwarder output;
  LineForwarder errors;
  bool ended_by_fault = false;
  bool start_again = false;
};

class Runner final : public faults::FaultTarget {
 public:
  Runner(Testbed& testbed, const RunOptions& options);

  Result<RunResult> run();

  Result<void> set_link_up(std::uint32_t host, bool up) override {
    return testbed_.set_link_up(host, up);
  }
  Result<void> set_partition(const std::vector<std::vector<std::uint32_t>>& groups) override {
    return testbed_.set_partition(groups);
  }
  Result<void> set_loss(std::uint32_t host, std::uint32_t parts_per_million) override {
    return testbed_.set_loss(host, parts_per_million);
  }
  Result<void> set_rate(std::uint32_t host, Bandwidth rate) override {
    return testbed_.set_rate(host, rate);
  }
  Result<void> kill(std::uint32_t host) override;
  Result<void> stop(std::uint32_t host) override { return signal(host, SIGSTOP); }
  Result<void> resume(std::uint32_t host) override { return signal(host, SIGCONT); }
  Result<void> restart(std::uint32_t host) override;

 private:
  Result<void> start(Process& process);
  [[noreturn]] void become(const Process& process, int output, int errors, char* const* arguments,
                           char* const* environment);
  Result<void> signal(std::uint32_t host, int number);
  Process* find(std::uint32_t host);
  bool done() const;
  void turn();
  void play_faults(Instant now);
  void take_signal(Instant now);
  void reap(Process& process);
  void end_all(Instant now);
  void signal_all(int number);

  Testbed& testbed_;
  const RunOptions& options_;
  std::vector<std::string> addresses_;
  std::vector<Process> processes_;
  Signals signals_;
  Instant end_;                         // of the time limit
  Instant kill_at_ = Instant::never();  // after SIGTERM
  faults::FaultPlayer player_;
  RunResult result_;
};

Runner::Runner(Testbed& testbed, const RunOptions& options)
    : testbed_(testbed),
      options_(options),
      end_(clock_now() + options.time_limit),
      player_(options.faults, clock_now()) {
  std::vector<std::uint32_t> hosts = options.hosts;
  if (hosts.empty()) {
    hosts.resize(testbed.hosts());
    std::iota(hosts.begin(), hosts.end(), 0u);
  }
  for (std::uint32_t i = 0; i < testbed.hosts(); ++i) addresses_.push_back(testbed.address(i));
  for (std::uint32_t rank = 0; rank < hosts.size(); ++rank) {
    auto& process = processes_.emplace_back();
    process.host = hosts[rank];
    process.rank = rank;
  }
}

// In the child.
void Runner::become(const Process& process, int output, int errors, char* const* arguments,
                    char* const* environment) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::dup2(output, 1);
  ::dup2(errors, 2);
  const int input = ::open("/dev/null", O_RDONLY);
  if (input >= 0) ::dup2(input, 0);
  const auto entered = testbed_.enter_host(process.host);
  if (entered.ok()) {
    ::sigprocmask(SIG_SETMASK, &signals_.before(), nullptr);
    ::execvpe(arguments[0], arguments, environment);
    ::dprintf(2, "weft: %s\n", system_error("run", arguments[0], errno).message.c_str());
  } else {
    ::dprintf(2, "weft: %s\n", entered.error().message.c_str());
  }
  ::_exit(kCannotRun);
}

Result<void> Runner::start(Process& process) {
  std::vector<std::string> words, variables;
  for (const std::string& argument : options_.command) {
    words.push_back(replace_placeholders(argument, process.host, process.rank, addresses_));
  }
  variables = {fmt::format("WEFT_TESTBED_HOST={}", process.host),
               fmt::format("WEFT_TESTBED_RANK={}", process.rank),
               fmt::format("WEFT_TESTBED_HOSTS={}", testbed_.hosts()),
               fmt::format("WEFT_TESTBED_ADDRESS={}", addresses_[process.host]),
               fmt::format("WEFT_TESTBED_ADDRESSES={}", fmt::join(addresses_, ","))};
  std::vector<char*> arguments = argument_pointers(words), environment;
  for (char** variable = environ; *variable != nullptr; ++variable)
    environment.push_back(*variable);
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);

  std::array<int, 2> output{-1, -1}, errors{-1, -1};
  if (::pipe2(output.data(), O_CLOEXEC) != 0 || ::pipe2(errors.data(), O_CLOEXEC) != 0) {
    for (const int end : output) ::close(end);
    return make_error(ErrorCode::exhausted, "testbed: pipe: {}", std::strerror(errno));
  }
  const Descriptor output_end(output[1]), errors_end(errors[1]);
  const auto prefix = options_.prefix ? fmt::format("host{}: ", process.host) : std::string();
  for (const int from : {output[0], errors[0]}) ::fcntl(from, F_SETFL, O_NONBLOCK);
  process.output = LineForwarder(Descriptor(output[0]), options_.output, prefix);
  process.errors = LineForwarder(Descriptor(errors[0]), options_.errors, prefix);
  const pid_t pid = ::fork();
  if (pid == 0) become(process, output[1], errors[1], arguments.data(), environment.data());
  if (pid < 0) {
    return make_error(ErrorCode::exhausted, "testbed: fork: {}", std::strerror(errno));
  }
  ::setpgid(pid, pid);
  process.pid = pid;
  process.handle = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  process.ended_by_fault = false;
  process.start_again = false;
  return {};
}

Process* Runner::find(std::uint32_t host) {
  const auto it = std::ranges::find(processes_, host, &Process::host);
  return it == processes_.end() ? nullptr : &*it;
}

Result<void> Runner::signal(std::uint32_t host, int number) {
  const Process* process = find(host);
  if (process == nullptr || process->pid == 0) {
    return make_error(ErrorCode::not_found, "no process runs in host{}", host);
  }
  if (::kill(-process->pid, number) == 0) return {};
  return make_error(ErrorCode::io, "kill: {}", std::strerror(errno));
}

Result<void> Runner::kill(std::uint32_t host) {
  auto killed = signal(host, SIGKILL);
  if (killed.ok()) find(host)->ended_by_fault = true;
  return killed;
}

Result<void> Runner::restart(std::uint32_t host) {
  Process* process = find(host);
  if (process == nullptr) {
    return make_error(ErrorCode::not_found, "no process was started in host{}", host);
  }
  if (process->pid == 0) return start(*process);
  process->start_again = true;
  return kill(host);
}

bool Runner::done() const {
  const bool ending = kill_at_ != Instant::never();
  return std::ranges::all_of(processes_, [&](const Process& process) {
    return process.pid == 0 && (ending || !player_.will_restart(process.host));
  });
}

void Runner::play_faults(Instant now) {
  std::vector<faults::FaultPlayer::Played> log;
  player_.play(now, *this, log);
  for (const auto& played : log) {
    const std::string outcome = played.result.ok() ? "" : ": " + played.result.error().message;
    ::dprintf(options_.errors, "fault at %.3f s: %s%s\n", played.at.to_seconds(),
              played.what.c_str(), outcome.c_str());
    if (!played.result.ok()) ++result_.failed_faults;
  }
}

void Runner::signal_all(int number) {
  for (const Process& process : processes_) {
    if (process.pid != 0) ::kill(-process.pid, number);
  }
}

// Asks all processes to end; insists when asked again.
void Runner::end_all(Instant now) {
  if (kill_at_ == Instant::never()) {
    signal_all(SIGTERM);
    signal_all(SIGCONT);
    kill_at_ = now + kGrace;
  } else {
    signal_all(SIGKILL);
    kill_at_ = now + kGrace;
  }
}

void Runner::reap(Process& process) {
  siginfo_t ended{};
  const auto id = static_cast<id_t>(process.pid);
  if (::waitid(P_PID, id, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0) return;
  // Other processes of its group end with it, while the group's number is still its own.
  ::kill(-process.pid, SIGKILL);
  int status = 0;
  ::waitpid(process.pid, &status, 0);
  process.output.finish();
  process.errors.finish();
  process.pid = 0;
  process.handle.reset();
  const int code = code_of_end(status);
  const bool counts = !process.ended_by_fault && kill_at_ == Instant::never();
  if (counts && result_.exit_code == 0) result_.exit_code = code;
  if (!process.start_again || kill_at_ != Instant::never()) return;
  if (const auto started = start(process); !started.ok()) {
    ::dprintf(options_.errors, "restart host%u: %s\n", process.host,
              started.error().message.c_str());
    ++result_.failed_faults;
  }
}

// Waits for the next event and takes it.
void Runner::turn() {
  std::vector<pollfd> waiting{{signals_.descriptor(), POLLIN, 0}};
  for (const Process& process : processes_) {
    if (process.pid == 0) continue;
    waiting.push_back({process.handle.get(), POLLIN, 0});
    // A closed forwarder is −1, which poll passes over.
    waiting.push_back({process.output.descriptor(), POLLIN, 0});
    waiting.push_back({process.errors.descriptor(), POLLIN, 0});
  }
  Instant until = std::min({end_, kill_at_, player_.next_deadline()});
  const Duration left = std::clamp(until - clock_now(), Duration{}, Duration::seconds(60));
  const timespec timeout{left.ticks() / 1'000'000'000, left.ticks() % 1'000'000'000};
  ::ppoll(waiting.data(), waiting.size(), &timeout, nullptr);
  const Instant now = clock_now();
  if (const int number = signals_.take(); number != 0) {
    result_.interrupted = true;
    if (result_.signal == 0) result_.signal = number;
    end_all(now);
  }
  for (Process& process : processes_) {
    if (process.pid == 0) continue;
    process.output.forward();
    process.errors.forward();
    reap(process);
  }
  if (kill_at_ == Instant::never()) play_faults(now);
  if (now >= kill_at_) end_all(now);
  if (now >= end_) {
    result_.timed_out = true;
    end_ = Instant::never();
    end_all(now);
  }
}

Result<RunResult> Runner::run() {
  if (auto contained = testbed_.contain_children(); !contained.ok()) {
    return std::move(contained).error();
  }
  for (Process& process : processes_) {
    if (auto started = start(process); !started.ok()) {
      signal_all(SIGKILL);
      for (const Process& other : processes_) {
        if (other.pid != 0) ::waitpid(other.pid, nullptr, 0);
      }
      return std::move(started).error();
    }
  }
  while (!done()) turn();
  return result_;
}

/// An errno if no host can run the program, which one line then says in place of one for each host;
/// else 0. A name with placeholders may be another program in each host.
int why_not_startable(const std::string& program) {
  if (program.empty()) return ENOENT;
  if (program.find('{') != std::string::npos) return 0;
  const std::filesystem::path file = find_program(program);
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) return EISDIR;
  return ::access(file.c_str(), X_OK) == 0 ? 0 : errno;
}

}  // namespace

std::string replace_placeholders(std::string_view argument, std::uint32_t host, std::uint32_t rank,
                                 std::span<const std::string> addresses) {
  const auto value = [&](std::string_view name) -> std::string {
    if (name == "host") return std::to_string(host);
    if (name == "rank") return std::to_string(rank);
    if (name == "hosts") return std::to_string(addresses.size());
    if (name == "address") return addresses[host];
    if (name == "addresses") return fmt::format("{}", fmt::join(addresses, ","));
    if (name.starts_with("addresses[") && name.ends_with(']')) {
      const auto index = parse_number<std::size_t>(name.substr(10, name.size() - 11));
      if (index && *index < addresses.size()) return addresses[*index];
    }
    return {};
  };
  std::string out;
  while (!argument.empty()) {
    const auto open = argument.find('{');
    const auto close = argument.find('}', open);
    out += argument.substr(0, open);
    if (open == std::string_view::npos) break;
    argument.remove_prefix(open);
    const std::string known =
        close == std::string_view::npos ? "" : value(argument.substr(1, close - open - 1));
    out += known.empty() ? "{" : known;
    argument.remove_prefix(known.empty() ? 1 : close - open + 1);
  }
  return out;
}

Result<RunResult> run_in_hosts(Testbed& testbed, const RunOptions& options) {
  if (options.command.empty()) {
    return Error{ErrorCode::invalid_argument, "no command: write one behind --"};
  }
  if (const int number = why_not_startable(options.command.front()); number != 0) {
    ::dprintf(options.errors, "weft: %s\n",
              system_error("run", options.command.front(), number).message.c_str());
    return RunResult{.exit_code = kCannotRun};
  }
  return Runner(testbed, options).run();
}

}  // namespace weft::testbed
