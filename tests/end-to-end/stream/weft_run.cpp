// SPDX-License-Identifier: Apache-2.0
#include "weft_run.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

namespace weft::e2e {
namespace {

using Clock = std::chrono::steady_clock;

int milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::max<std::int64_t>(left, 0));
}

/// In the child: becomes the program. Does not return.
[[noreturn]] void become(std::vector<std::string>& command, const int output[2],
                         const int errors[2], std::uint64_t largest_file) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(output[1], STDOUT_FILENO);
  dup2(errors[1], STDERR_FILENO);
  const int nothing = ::open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  if (largest_file > 0) {
    // Without the signal a write beyond the limit fails with EFBIG, as it does with a full disk.
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = largest_file, .rlim_max = largest_file};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  std::vector<char*> arguments;
  for (auto& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(arguments[0], arguments.data());
  std::perror(arguments[0]);
  _exit(127);
}

/// Kills processes that became children of the test because their parents ended. Nobody else's
/// children are ours: a test runs one program at a time.
std::size_t kill_orphans() {
  std::size_t killed = 0;
  // A process that is just exiting by itself is given the time for it.
  const auto patience = Clock::now() + std::chrono::seconds(2);
  for (;;) {
    const pid_t ended = waitpid(-1, nullptr, WNOHANG);
    if (ended > 0) continue;
    if (ended < 0) return killed;
    if (Clock::now() < patience) {
      (void)poll(nullptr, 0, 10);
      continue;
    }
    std::ifstream children(fmt::format("/proc/self/task/{}/children", gettid()));
    pid_t child = 0;
    while (children >> child) {
      ::kill(child, SIGKILL);
      (void)waitpid(child, nullptr, 0);
      ++killed;
    }
    return killed;
  }
}

}  // namespace

nlohmann::json Ended::json() const {
  return nlohmann::json::parse(output, nullptr, false);
}

std::string Ended::describe() const {
  return fmt::format("{}\n{}exit code {}{}\n--- standard output\n{}\n--- standard error\n{}\n",
                     command, hung ? "HUNG, killed; " : "", code,
                     orphans > 0 ? fmt::format(", {} processes left behind", orphans) : "",
                     output.substr(0, 4000), errors.substr(0, 4000));
}

WeftProcess::WeftProcess(std::vector<std::string> arguments, std::uint64_t largest_file) {
  // Processes that the program leaves behind become children of the test, which finds them.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  std::vector<std::string> command{program()};
  command.insert(command.end(), std::make_move_iterator(arguments.begin()),
                 std::make_move_iterator(arguments.end()));
  for (const auto& word : command) {
    const bool plain = word.find_first_of(" ?*&|;<>()") == std::string::npos;
    ended_.command += plain ? word + " " : "'" + word + "' ";
  }
  int output[2], errors[2];
  if (pipe2(output, O_CLOEXEC) != 0 || pipe2(errors, O_CLOEXEC) != 0) std::abort();
  pid_ = fork();
  if (pid_ == 0) become(command, output, errors, largest_file);
  ::close(output[1]);
  ::close(errors[1]);
  pipes_[0] = output[0];
  pipes_[1] = errors[0];
}

WeftProcess::~WeftProcess() {
  if (pid_ > 0) {
    ::kill(-pid_, SIGKILL);
    (void)waitpid(pid_, nullptr, 0);
    (void)kill_orphans();
  }
  for (const int end : pipes_) {
    if (end >= 0) ::close(end);
  }
}

bool WeftProcess::read_more(int milliseconds) {
  pollfd watched[2];
  for (int i = 0; i < 2; ++i) watched[i] = {.fd = pipes_[i], .events = POLLIN, .revents = 0};
  if (pipes_[0] < 0 && pipes_[1] < 0) return false;
  if (poll(watched, 2, milliseconds) <= 0) return false;
  std::array<char, 65536> bytes;
  for (int i = 0; i < 2; ++i) {
    if (watched[i].revents == 0) continue;
    const auto count = ::read(pipes_[i], bytes.data(), bytes.size());
    if (count > 0) {
      (i == 0 ? ended_.output : ended_.errors).append(bytes.data(), static_cast<size_t>(count));
    } else {
      ::close(pipes_[i]);
      pipes_[i] = -1;
    }
  }
  return true;
}

bool WeftProcess::says(std::string_view text, int seconds) {
  const auto deadline = Clock::now() + std::chrono::seconds(seconds);
  while (ended_.errors.find(text) == std::string::npos) {
    if (!read_more(milliseconds_until(deadline))) return false;
  }
  return true;
}

Ended WeftProcess::wait(int seconds) {
  const auto deadline = Clock::now() + std::chrono::seconds(seconds);
  while (read_more(milliseconds_until(deadline))) {
  }
  // Children that hold the pipes open are a hang too, seen from outside.
  ended_.hung = pipes_[0] >= 0 || pipes_[1] >= 0;
  if (ended_.hung) ::kill(-pid_, SIGKILL);
  int status = 0;
  rusage used{};
  (void)wait4(pid_, &status, 0, &used);
  pid_ = -1;
  ended_.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  ended_.largest_kib = used.ru_maxrss;
  ended_.orphans = kill_orphans();
  return ended_;
}

void WeftProcess::signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);
}

std::string program() {
  const char* other = std::getenv("WEFT_PROGRAM");
  return other != nullptr ? other : WEFT_PROGRAM;
}

std::vector<std::string> by_schedule(std::vector<std::string> arguments,
                                     const std::string& schedule, int timeslices_per_interval) {
  arguments.insert(arguments.end(), {"--schedule", schedule});
  if (schedule == "dfs") {
    arguments.insert(arguments.end(),
                     {"--timeslices-per-interval", fmt::format("{}", timeslices_per_interval)});
  }
  return arguments;
}

Ended run_weft(std::vector<std::string> arguments, int seconds) {
  WeftProcess process(std::move(arguments));
  return process.wait(seconds);
}

ScratchDirectory::ScratchDirectory() {
  std::string name = testing::TempDir() + "weft-stream-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) std::abort();
  path_ = name;
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

void write_file(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<long>(bytes.size()));
}

std::string sha256_of(const std::string& path) {
  const std::string command = fmt::format("sha256sum '{}'", path);
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::array<char, 64> digest{};
  return pipe != nullptr && fread(digest.data(), 1, digest.size(), pipe.get()) == digest.size()
             ? std::string(digest.data(), digest.size())
             : "no digest of " + path;
}

}  // namespace weft::e2e
