// SPDX-License-Identifier: Apache-2.0
#include "runtime/process_set.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <utility>

#include "base/make_error.hpp"
#include "base/system_error.hpp"

namespace weft {
namespace {

/// An exception that left this frame would unwind the child's copy of the parent's frames, whose
/// destructors end the other processes.
int run(const ProcessSet::Body& body, Channel channel) {
  try {
    return body(std::move(channel));
  } catch (const std::exception& e) {
    fmt::print(stderr, "weft: {}\n", text_of(e));
  } catch (...) {
    fmt::print(stderr, "weft: unknown exception\n");
  }
  return 1;
}

}  // namespace

ProcessSet::~ProcessSet() {
  end_all();
}

void ProcessSet::end_all() {
  signal_all(SIGKILL);
  for (Process& p : processes_) {
    if (p.pid > 0) ::waitpid(p.pid, nullptr, 0);
    p.pid = -1;
  }
}

Result<void> ProcessSet::start(std::uint32_t place, const Body& body) {
  auto ends = Channel::pair();
  if (!ends) return std::move(ends).error();
  auto& [ours, theirs] = *ends;
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) {
    return make_error(ErrorCode::exhausted, "cannot start process {} of {}: {}", place + 1,
                      processes_.size(), std::strerror(errno));
  }
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    ours.close();
    for (Process& p : processes_) p.channel.close();
    ::_exit(run(body, std::move(theirs)));
  }
  processes_[place] = Process{.pid = pid, .channel = std::move(ours)};
  return {};
}

std::uint32_t ProcessSet::running() const {
  return static_cast<std::uint32_t>(std::count_if(processes_.begin(), processes_.end(),
                                                  [](const Process& p) { return p.pid > 0; }));
}

bool ProcessSet::has(pid_t pid) const {
  return std::any_of(processes_.begin(), processes_.end(),
                     [&](const Process& p) { return p.pid == pid; });
}

void ProcessSet::signal(std::uint32_t place, int number) const {
  if (runs(place)) ::kill(processes_[place].pid, number);
}

void ProcessSet::signal_all(int number) const {
  for (std::uint32_t i = 0; i < processes_.size(); ++i) signal(i, number);
}

void ProcessSet::hear(std::uint32_t place,
                      const std::function<void(Channel::Message)>& on_message) {
  while (auto message = processes_[place].channel.receive()) on_message(*std::move(message));
}

std::vector<ProcessSet::Ended> ProcessSet::reap() {
  std::vector<Ended> ended;
  for (std::uint32_t i = 0; i < processes_.size(); ++i) {
    int status = 0;
    if (!runs(i) || ::waitpid(processes_[i].pid, &status, WNOHANG) != processes_[i].pid) continue;
    processes_[i].pid = -1;
    ended.push_back({.place = i, .status = status});
  }
  return ended;
}

void ProcessSet::flush() {
  for (Process& p : processes_) p.channel.flush();
}

void ProcessSet::add_to(std::vector<pollfd>& files) const {
  for (const Process& p : processes_) {
    if (!p.channel.open()) continue;
    const int events = p.channel.queued() > 0 ? POLLIN | POLLOUT : POLLIN;
    files.push_back(
        {.fd = p.channel.descriptor(), .events = static_cast<short>(events), .revents = 0});
  }
}

}  // namespace weft
