// SPDX-License-Identifier: Apache-2.0
#include "launch/simulated.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "base/exit_code.hpp"
#include "base/make_error.hpp"
#include "base/process_end.hpp"
#include "fabric/choice/fabric_choice.hpp"
#include "launch/launched_job.hpp"
#include "launch/own_mpi.hpp"
#include "launch/program_exec.hpp"
#include "process/job_link.hpp"
#include "process/proxy_wire.hpp"
#include "process/simulated/remote_life.hpp"
#include "process/simulated/simulated_program.hpp"
#include "runtime/channel.hpp"
#include "runtime/clock.hpp"

namespace weft {
namespace {

/// So many bytes of a program's output are kept.
constexpr std::size_t most_kept_output = 1 << 20;

Error exhausted() {
  return make_error(ErrorCode::exhausted, "cannot start the simulation: {}", std::strerror(errno));
}

JobDescription description(const SimulatedLaunch& o) {
  JobDescription job = describe_job(o.launch, make_job_secret());
  job.incarnation = Incarnation(1);
  job.seed = o.seed;
  job.faults = o.faults;
  return job;
}

/// In a new process: becomes a rank of the program.
[[noreturn]] void execute_rank(const std::vector<std::string>& command, pid_t parent,
                               const Channel& its_end) {
  // It must not outlive the simulation.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  ::fcntl(its_end.descriptor(), F_SETFD, 0);
  ::setenv(proxy::variable, std::to_string(its_end.descriptor()).c_str(), 1);
  execute_or_fail(command);
  fmt::print(stderr, "weft run: {}\n", why_not_started(command[0], errno));
  std::fflush(stderr);
  ::_exit(cannot_execute);
}

/// Chooses the MPI of all ranks. Why none of them can be started, which is said once; else nothing.
std::string prepare_ranks(const std::string& program) {
  std::string why = prefer_own_mpi(program, false);
  if (why.empty() && ::access(place_of_program(program).c_str(), X_OK) != 0) {
    why = why_not_started(program, errno);
  }
  return why;
}

/// The simulation of a program that knows nothing of it: each rank is a process of its own. Returns
/// the exit code.
int run_simulation_of(const std::vector<std::string>& command, Channel channel) {
  if (const std::string why = prepare_ranks(command[0]); !why.empty()) {
    fmt::print(stderr, "weft run: {}\n", why);
    return cannot_execute;
  }
  const pid_t self = ::getpid();
  const ProcessStarter start = [&](NodeId, Channel& its_end) -> Result<pid_t> {
    const pid_t pid = ::fork();
    if (pid == 0) execute_rank(command, self, its_end);
    if (pid < 0) return exhausted();
    return pid;
  };
  JobInvitation invitation;
  invitation.link = std::make_unique<JobLink>(std::move(channel));
  auto job = invitation.link->receive_job();
  if (!job) return 1;
  invitation.job = std::move(job).value();
  const auto code = run_lives(std::move(invitation), remote_lives(start));
  if (code) return *code;
  fmt::print(stderr, "weft run: {}\n", code.error().message);
  return static_cast<int>(exit_code_of(code.error().code));
}

/// One simulation's process, its channel, and its output.
class Child {
 public:
  explicit Child(const SimulatedLaunch& options) : options_(options) {}
  ~Child() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    if (output_ >= 0) ::close(output_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  Result<void> start();
  void watch(std::vector<pollfd>& files) const {
    if (channel_.open()) files.push_back({channel_.descriptor(), POLLIN, 0});
    if (output_ >= 0) files.push_back({output_, POLLIN, 0});
  }
  Instant kill_at() const { return kill_at_; }
  /// Takes its messages and output. Whether it is over.
  bool hear();
  SimulatedRun finish();

 private:
  [[noreturn]] void execute(pid_t parent, int channel, int output);
  void read_output();

  SimulatedLaunch options_;
  pid_t pid_ = -1;
  Channel channel_;
  int output_ = -1;
  Instant kill_at_ = Instant::never();
  bool killed_ = false;
  SimulatedRun run_;
};

Result<void> Child::start() {
  auto ends = Channel::pair();
  if (!ends) return std::move(ends).error();
  int output[2] = {-1, -1};
  if (options_.keeps_output && ::pipe2(output, O_CLOEXEC) != 0) return exhausted();
  output_ = output[0];
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) execute(parent, ends->second.descriptor(), output[1]);
  if (output[1] >= 0) ::close(output[1]);
  if (pid_ < 0) return exhausted();
  if (output_ >= 0) ::fcntl(output_, F_SETFL, O_NONBLOCK);
  channel_ = std::move(ends->first);
  if (options_.at_most != Duration::max()) kill_at_ = monotonic_now() + options_.at_most;
  (void)channel_.send(launch_message::job, to_text(description(options_)));
  return {};
}

/// In the child.
void Child::execute(pid_t parent, int channel, int output) {
  // It must not outlive the launcher.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  if (output >= 0) {
    ::dup2(output, STDOUT_FILENO);
    ::dup2(output, STDERR_FILENO);
  }
  if (names_mpi(options_.launch.command.front())) {
    const int code = run_simulation_of(options_.launch.command, Channel(channel));
    std::fflush(nullptr);
    ::_exit(code);
  }
  ::fcntl(channel, F_SETFD, 0);
  ::setenv(channel_variable, std::to_string(channel).c_str(), 1);
  execute_or_fail(options_.launch.command);
  const std::string why =
      fmt::format("weft run: {}\n", why_not_started(options_.launch.command.front(), errno));
  (void)!::write(STDERR_FILENO, why.data(), why.size());
  ::_exit(cannot_execute);
}

void Child::read_output() {
  std::array<char, 4096> buffer;
  while (output_ >= 0) {
    const ssize_t n = ::read(output_, buffer.data(), buffer.size());
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {
      ::close(std::exchange(output_, -1));
      return;
    }
    const std::size_t room = most_kept_output - run_.output.size();
    run_.output.append(buffer.data(), std::min(room, static_cast<std::size_t>(n)));
  }
}

bool Child::hear() {
  // The last messages come together with the channel's end.
  while (auto message = channel_.receive()) {
    if (message->kind == launch_message::report) run_.report = std::move(message->text);
  }
  read_output();
  if (!killed_ && monotonic_now() >= kill_at_) {
    killed_ = true;
    kill_at_ = Instant::never();
    ::kill(pid_, SIGKILL);
  }
  return !channel_.open() && output_ < 0;
}

SimulatedRun Child::finish() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  run_.code = code_of_end(status);
  if (killed_) {
    run_.output +=
        fmt::format("it was ended, since it took more than {} s", options_.at_most.to_seconds());
  }
  return std::move(run_);
}

/// Until one of them has something to say, or has to be ended.
void wait_for(const std::vector<const Child*>& children) {
  std::vector<pollfd> files;
  Instant kill_at = Instant::never();
  for (const Child* child : children) {
    child->watch(files);
    kill_at = std::min(kill_at, child->kill_at());
  }
  int timeout_ms = -1;
  if (kill_at != Instant::never()) {
    const std::int64_t ms = (kill_at - monotonic_now()).ticks() / 1'000'000 + 1;
    timeout_ms = static_cast<int>(std::clamp<std::int64_t>(ms, 0, 1'000'000));
  }
  (void)::poll(files.data(), files.size(), timeout_ms);
}

using Lines = std::set<std::string, std::less<>>;

/// The results that a program prints; each line once, however often it is printed.
Lines results_in(std::string_view output) {
  Lines lines;
  while (!output.empty()) {
    const std::size_t end = std::min(output.find('\n'), output.size());
    const std::string_view line = output.substr(0, end);
    if (line.find("checksum") != line.npos) lines.emplace(line);
    output.remove_prefix(std::min(end + 1, output.size()));
  }
  return lines;
}

std::string last_line(std::string_view output) {
  while (output.ends_with('\n')) output.remove_suffix(1);
  return std::string(output.substr(output.rfind('\n') + 1));
}

class Swarm {
 public:
  Swarm(const ProgramSwarm& options, const std::function<void(const ProgramSwarmOutcome&)>& on_run)
      : options_(options), on_run_(on_run), next_(options.first) {}

  Result<ProgramSwarmOutcome> run() {
    if (auto good = run_reference(); !good) return std::move(good).error();
    while (next_ <= options_.last || !running_.empty()) {
      while (next_ <= options_.last && running_.size() < options_.jobs) {
        if (auto good = start(); !good) return std::move(good).error();
      }
      std::vector<const Child*> children;
      for (const Running& each : running_) children.push_back(each.child.get());
      wait_for(children);
      std::erase_if(running_, [this](Running& each) {
        if (!each.child->hear()) return false;
        take(each.seed, each.child->finish());
        return true;
      });
    }
    std::sort(outcome_.failures.begin(), outcome_.failures.end(),
              [](const auto& a, const auto& b) { return a.seed < b.seed; });
    return std::move(outcome_);
  }

 private:
  struct Running {
    std::uint64_t seed = 0;
    std::unique_ptr<Child> child;
  };

  Result<void> run_reference() {
    SimulatedLaunch quiet = options_.each;
    quiet.faults = false;
    quiet.keeps_output = true;
    auto run = launch_simulated(quiet);
    if (!run) return std::move(run).error();
    if (run->code != 0) {
      return invalid("without faults the program ends with code {}: {}", run->code,
                     last_line(run->output));
    }
    if (run->report.empty()) {
      return never_joined(quiet.launch);
    }
    expected_ = results_in(run->output);
    outcome_.results.assign(expected_.begin(), expected_.end());
    return {};
  }

  Result<void> start() {
    SimulatedLaunch launch = options_.each;
    launch.seed = next_;
    launch.keeps_output = true;
    running_.push_back({next_++, std::make_unique<Child>(launch)});
    return running_.back().child->start();
  }

  void take(std::uint64_t seed, SimulatedRun run) {
    ++outcome_.runs;
    if (!run.report.empty()) outcome_.reports.push_back(std::move(run.report));
    const Lines results = results_in(run.output);
    if (run.code != 0) {
      fail(seed, fmt::format("code {}: {}", run.code, last_line(run.output)));
    } else if (results != expected_) {
      fail(seed, results.empty() ? "it printed no checksum"
                                 : fmt::format("it printed '{}'", fmt::join(results, "', '")));
    }
    on_run_(outcome_);
  }

  void fail(std::uint64_t seed, std::string what) {
    outcome_.failures.push_back({seed, std::move(what)});
  }

  const ProgramSwarm& options_;
  const std::function<void(const ProgramSwarmOutcome&)>& on_run_;
  std::uint64_t next_;
  Lines expected_;
  std::vector<Running> running_;
  ProgramSwarmOutcome outcome_;
};

}  // namespace

Result<void> check_restarts(const LaunchOptions& launch) {
  if (!launch.restart || !names_mpi(launch.command.front())) return {};
  return invalid(
      "--restart {}: ranks of '{}', a program of MPI, are not started anew in a simulation; leave "
      "the option out, or run it without --fabric {}",
      launch.restart_all ? "all" : "on-failure", launch.command.front(), launch.fabric);
}

Error never_joined(const LaunchOptions& launch) {
  return invalid(
      "'{}' never called weft::run_program: --fabric {} needs a program that is itself linked to "
      "weft, or to MPICH, Open MPI or the standard's ABI; a script that starts one is none",
      launch.command.front(), launch.fabric);
}

Result<SimulatedRun> launch_simulated(const SimulatedLaunch& options) {
  if (auto good = check_restarts(options.launch); !good) return std::move(good).error();
  Child child(options);
  if (auto started = child.start(); !started) return std::move(started).error();
  while (!child.hear()) wait_for({&child});
  return child.finish();
}

Result<ProgramSwarmOutcome> launch_swarm(
    const ProgramSwarm& options, const std::function<void(const ProgramSwarmOutcome&)>& on_run) {
  return Swarm(options, on_run).run();
}

}  // namespace weft
