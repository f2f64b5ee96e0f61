// SPDX-License-Identifier: Apache-2.0
#include "node_process.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <utility>

namespace weft {
namespace {

constexpr long patience_ms = 30'000;

long now_ms() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000 + t.tv_nsec / 1'000'000;
}

/// False when it is closed.
bool take(int& pipe, std::string& into) {
  std::array<char, 4096> buffer;
  const ssize_t n = ::read(pipe, buffer.data(), buffer.size());
  if (n > 0) {
    into.append(buffer.data(), static_cast<std::size_t>(n));
  } else {
    ::close(std::exchange(pipe, -1));
  }
  return n > 0;
}

}  // namespace

NodeProcess::NodeProcess(const std::vector<std::string>& command,
                         const std::vector<std::string>& environment) {
  int out[2], err[2];
  EXPECT_EQ(::pipe2(out, O_CLOEXEC) | ::pipe2(err, O_CLOEXEC), 0);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::setpgid(0, 0);
    ::dup2(out[1], STDOUT_FILENO);
    ::dup2(err[1], STDERR_FILENO);
    for (const std::string& variable : environment) {
      ::putenv(const_cast<char*>(variable.c_str()));
    }
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::close(out[1]);
  ::close(err[1]);
  output_pipe_ = out[0];
  error_pipe_ = err[0];
}

NodeProcess::~NodeProcess() {
  if (pid_ > 0) {
    ::kill(-pid_, SIGKILL);  // mpirun's children, too
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  if (output_pipe_ >= 0) ::close(output_pipe_);
  if (error_pipe_ >= 0) ::close(error_pipe_);
}

NodeProcess::NodeProcess(NodeProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      output_pipe_(std::exchange(other.output_pipe_, -1)),
      error_pipe_(std::exchange(other.error_pipe_, -1)),
      output_(std::move(other.output_)),
      errors_(std::move(other.errors_)) {}

NodeProcess& NodeProcess::operator=(NodeProcess&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(output_pipe_, other.output_pipe_);
  std::swap(error_pipe_, other.error_pipe_);
  std::swap(output_, other.output_);
  std::swap(errors_, other.errors_);
  return *this;
}

bool NodeProcess::read_more(long deadline) {
  std::array<pollfd, 2> pipes = {pollfd{output_pipe_, POLLIN, 0}, pollfd{error_pipe_, POLLIN, 0}};
  if (output_pipe_ < 0 && error_pipe_ < 0) return false;
  const long left = deadline - now_ms();
  if (left <= 0 || ::poll(pipes.data(), pipes.size(), static_cast<int>(left)) <= 0) return false;
  if (pipes[0].revents != 0) take(output_pipe_, output_);
  if (pipes[1].revents != 0) take(error_pipe_, errors_);
  return true;
}

bool NodeProcess::says(std::string_view text) {
  const long deadline = now_ms() + patience_ms;
  while (errors_.find(text) == std::string::npos) {
    if (!read_more(deadline)) return false;
  }
  return true;
}

int NodeProcess::wait() {
  const long deadline = now_ms() + patience_ms;
  while (read_more(deadline)) {
  }
  if (output_pipe_ >= 0 || error_pipe_ >= 0) return -1;
  // Both pipes are closed: it has ended, or is about to.
  int status = 0;
  if (::waitpid(std::exchange(pid_, -1), &status, 0) < 0) return -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void NodeProcess::signal(int number) const {
  ::kill(pid_, number);
}

}  // namespace weft
