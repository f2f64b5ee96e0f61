// SPDX-License-Identifier: Apache-2.0
#include "emulate/own_process.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "base/descriptor.hpp"
#include "runtime/stop_signals.hpp"

namespace weft::emulate {
namespace {

/// Waits for the child's end. Closes the pipe whose end is the request as soon as weft is told to
/// end.
void await_end(pid_t child, Descriptor& request) {
  constexpr int kLookEvery_ms = 50;
  const Descriptor ended(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  while (::waitpid(child, nullptr, WNOHANG) == 0) {
    if (StopSignals::number() != 0) request.reset();
    pollfd one{ended.get(), POLLIN, 0};
    ::poll(&one, 1, kLookEvery_ms);
  }
}

}  // namespace

void call_in_own_process(const std::function<void(const StopRequest&)>& work) {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return;
  const Descriptor reader(ends[0]);
  Descriptor writer(ends[1]);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    writer.reset();
    StopSignals::ignore();
    work(StopRequest(reader.get()));
    ::_exit(0);
  }
  if (child > 0) await_end(child, writer);
}

}  // namespace weft::emulate
