// SPDX-License-Identifier: Apache-2.0
#include "runtime/stop_signals.hpp"

#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "runtime/clock.hpp"

namespace weft {
namespace {

std::atomic<int> received{0};
std::atomic<int> first{0};
std::atomic<std::int64_t> first_at_ns{0};  // on the monotonic clock
std::atomic<bool> second_kills{false};
std::atomic<bool> hung_up{false};
std::atomic<const char*> line{nullptr};
bool watched = false;
static_assert(std::atomic<int>::is_always_lock_free, "a signal's handler must not lock");

/// Only where it can be written at once: a pipe that nobody reads would end the process by SIGPIPE,
/// and a full one would stop it.
void say(const char* text) {
  const int error = errno;
  pollfd to{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  if (::poll(&to, 1, 0) == 1 && to.revents == POLLOUT) {
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, std::strlen(text));
  }
  errno = error;
}

void on_signal(int number) {
  int none = 0;
  if (first.compare_exchange_strong(none, number)) {
    first_at_ns = (monotonic_now() - Instant()).ticks();
  }
  if (number == SIGHUP && hung_up.exchange(true)) return;
  const bool is_first = ++received == 1;
  if (const char* says = line; is_first && says != nullptr) say(says);
  if (is_first || !second_kills) return;
  std::signal(number, SIG_DFL);
  std::raise(number);  // comes when this handler returns
}

}  // namespace

StopSignals::StopSignals(Second second, const char* says)
    : outermost_(!std::exchange(watched, true)),
      kills_before_(second_kills.exchange(second == Second::kills)),
      said_before_(line.exchange(says)) {
  if (!outermost_) return;
  received = 0;
  first = 0;
  hung_up = false;
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigaction(SIGINT, &action, &former_interrupt_);
  sigaction(SIGTERM, &action, &former_terminate_);
  sigaction(SIGHUP, nullptr, &former_hang_up_);
  if (former_hang_up_.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
}

StopSignals::~StopSignals() {
  second_kills = kills_before_;
  line = said_before_;
  if (!outermost_) return;
  sigaction(SIGINT, &former_interrupt_, nullptr);
  sigaction(SIGTERM, &former_terminate_, nullptr);
  sigaction(SIGHUP, &former_hang_up_, nullptr);
  watched = false;
}

int StopSignals::count() {
  return received;
}

Duration StopSignals::since_first() {
  return monotonic_now() - (Instant() + Duration(first_at_ns));
}

int StopSignals::number() {
  return first;
}

void StopSignals::take(int number) {
  on_signal(number);
}

void StopSignals::ignore() {
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGTERM, SIG_IGN);
  std::signal(SIGHUP, SIG_IGN);
}

}  // namespace weft
