// SPDX-License-Identifier: Apache-2.0
#include "emulate/server_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>

#include "base/process_end.hpp"
#include "base/split.hpp"
#include "base/system_error.hpp"
#include "emulate/verdict.hpp"

namespace weft::emulate {
namespace {

constexpr auto kListensWithin = std::chrono::seconds(10);
// memcached looks once a second whether it was asked to end.
constexpr auto kEndsWithin = std::chrono::milliseconds(500);
constexpr int kCannotRun = 127;

/// In the child.
[[noreturn]] void become(const Start& start, char* const* words) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (start.own_group) ::setpgid(0, 0);
  ::signal(SIGINT, SIG_DFL);
  ::signal(SIGTERM, SIG_DFL);
  if (!start.reads_input) {
    const int nothing = ::open("/dev/null", O_RDONLY);
    if (nothing >= 0) ::dup2(nothing, STDIN_FILENO);
  }
  if (start.output != STDOUT_FILENO) ::dup2(start.output, STDOUT_FILENO);
  for (const auto& [name, value] : start.environment) ::setenv(name.c_str(), value.c_str(), 1);
  if (start.enter) {
    if (const auto entered = start.enter(); !entered) {
      ::dprintf(2, "weft: %s\n", entered.error().message.c_str());
      ::_exit(kCannotRun);
    }
  }
  ::execvp(words[0], words);
  ::dprintf(2, "weft: %s\n", system_error("run", words[0], errno).message.c_str());
  ::_exit(kCannotRun);
}

}  // namespace

std::string with_replaced(std::string text, const Replacements& replacements) {
  for (const auto& [name, value] : replacements) {
    for (auto at = text.find(name); at != std::string::npos; at = text.find(name, at)) {
      text.replace(at, name.size(), value);
      at += value.size();
    }
  }
  return text;
}

pid_t start_process(Start start) {
  std::vector<char*> words = argument_pointers(start.words);
  const pid_t pid = ::fork();
  if (pid == 0) become(start, words.data());
  if (pid > 0 && start.own_group) ::setpgid(pid, pid);
  return pid;
}

OwnedProcess::OwnedProcess(Start start)
    : leads_group_(start.own_group),
      pid_(start_process(std::move(start))),
      ended_(pid_ > 0 ? static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)) : -1) {}

std::optional<int> OwnedProcess::status() {
  int status = 0;
  if (!status_ && pid_ > 0 && ::waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
  return status_;
}

void OwnedProcess::signal(int number) const {
  ::kill(leads_group_ ? -pid_ : pid_, number);
}

OwnedProcess::~OwnedProcess() {
  if (pid_ <= 0 || status()) return;
  signal(SIGTERM);
  signal(SIGCONT);  // a stopped process would not notice
  const auto until = std::chrono::steady_clock::now() + kEndsWithin;
  while (!status()) {
    if (std::chrono::steady_clock::now() > until) signal(SIGKILL);
    ::usleep(1'000);
  }
}

Server::Server(const std::string& command, Start start)
    : command_(command), process_(std::move(start)) {}

Result<void> Server::check(const char* when) {
  if (!process_.was_started()) {
    return Error{ErrorCode::io, "--server: no process could be started"};
  }
  if (const auto status = process_.status(); status.value_or(0) != 0) {
    return no_result("--server '{}': {} {}", command_, describe_end(*status), when);
  }
  return {};
}

Result<void> Server::await(const std::function<bool()>& listens, const std::string& where,
                           const StopRequest& stop) {
  const auto until = std::chrono::steady_clock::now() + kListensWithin;
  while (!listens()) {
    if (stop.came()) return stopped();
    if (auto runs = check("before it listened"); !runs) return runs;
    if (std::chrono::steady_clock::now() > until) {
      return no_result("--server '{}': {}", command_, where);
    }
    ::usleep(1'000);
  }
  return {};
}

Capture::Capture(bool wanted)
    : file_(wanted ? ::memfd_create("weft-client-output", MFD_CLOEXEC) : -1) {}

Capture::~Capture() {
  if (file_ >= 0) ::close(file_);
}

std::string Capture::text() const {
  std::string text;
  std::array<char, 4096> part;
  for (off_t at = 0; file_ >= 0;) {
    const ssize_t n = ::pread(file_, part.data(), part.size(), at);
    if (n <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(n));
    at += n;
  }
  return text;
}

}  // namespace weft::emulate
