// SPDX-License-Identifier: Apache-2.0
#include "launch/signal_file.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/make_error.hpp"

namespace weft {

Result<void> SignalFile::open() {
  sigemptyset(&taken_);
  for (const int s : {SIGCHLD, SIGINT, SIGTERM}) sigaddset(&taken_, s);
  // nohup(1) ignores it, and that is meant.
  struct sigaction hang_up {};
  ::sigaction(SIGHUP, nullptr, &hang_up);
  if (hang_up.sa_handler != SIG_IGN) sigaddset(&taken_, SIGHUP);
  ::sigprocmask(SIG_BLOCK, &taken_, &before_);
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, &pipe_before_);
  file_ = ::signalfd(-1, &taken_, SFD_CLOEXEC | SFD_NONBLOCK);
  if (file_ >= 0) return {};
  const int number = errno;
  restore();
  return make_error(ErrorCode::exhausted, "cannot wait for processes: {}", std::strerror(number));
}

SignalFile::~SignalFile() {
  if (file_ < 0) return;
  ::close(file_);
  restore();
}

int SignalFile::next() const {
  signalfd_siginfo info{};
  return ::read(file_, &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
}

void SignalFile::restore() const {
  ::sigaction(SIGPIPE, &pipe_before_, nullptr);
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace weft
