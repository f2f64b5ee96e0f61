// SPDX-License-Identifier: Apache-2.0
#include "runtime/sleeper.hpp"

#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <thread>

#include "base/check.hpp"

namespace weft {
namespace {

constexpr std::size_t max_watched = 15;
/// No sleep is longer: a wake-up that a provider loses costs no more than this.
constexpr Duration longest_sleep = Duration::milliseconds(200);
/// A yield that lasts for longer gave the core to somebody who computes: the kernel charges it a
/// whole timeslice, and gives another to each competitor. A thread that sleeps is charged nothing,
/// and soon gets the core when it is woken: beside four busy loops a program of small messages
/// took 2.2 to 4.4 s with yields, 0.2 to 0.6 s so.
constexpr Duration longest_yield = Duration::milliseconds(1);
/// Between turns of a spin that has brought nothing for so long another process may have the core,
/// even where there are cores enough: the awaited process may have been put onto this one, beside
/// which it would not run before this one sleeps. Such pairs took 50 us for each message.
constexpr Duration longest_selfish = Duration::microseconds(10);
/// For how long a spin then sleeps before it tries a yield again.
constexpr Duration crowded = Duration::milliseconds(20);

/// The kernel lets a thread oversleep by 50 us, to wake several at once: more than most networks
/// take for a message, and a shaped link's deadlines come one behind the other.
void sleep_precisely() {
  thread_local const int done = ::prctl(PR_SET_TIMERSLACK, 1UL);
  (void)done;
}

}  // namespace

void Sleeper::watch(int descriptor) {
  WEFT_CHECK(watched_.size() < max_watched);
  watched_.push_back(descriptor);
}

void Sleeper::idle(Instant now, Fabric& fabric, Instant deadline) {
  end_yield(now);
  if (now < crowded_until_) busy_until_ = now;
  if (now < busy_until_) {
    if (gives_way_ || busy_until_ - now < spin_ - longest_selfish) {
      yielded_ = now;
      ::sched_yield();
    }
    return;
  }
  const WaitHint hint = fabric.prepare_wait(now);
  if (hint.moving && !gives_way_) busy_until_ = now + spin_;
  if (hint.ready || now < busy_until_) return;
  block(now, hint.descriptor, std::min(deadline, hint.poll_by));
}

void Sleeper::end_yield(Instant now) {
  if (!yielded_) return;
  if (now - *yielded_ > longest_yield) crowded_until_ = now + crowded;
  yielded_.reset();
}

void Sleeper::block(Instant now, int descriptor, Instant deadline) {
  deadline = std::min(deadline, now + longest_sleep);
  if (deadline <= now) return;
  sleep_precisely();
  std::array<pollfd, max_watched + 1> descriptors{};
  nfds_t n = 0;
  for (const int fd : watched_) descriptors[n++] = {.fd = fd, .events = POLLIN, .revents = 0};
  if (descriptor >= 0) descriptors[n++] = {.fd = descriptor, .events = POLLIN, .revents = 0};
  const std::int64_t left = (deadline - now).ticks();
  const timespec timeout{.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
  // Interrupted or not: the loop looks at everything again.
  (void)ppoll(descriptors.data(), n, &timeout, nullptr);
}

bool share_cores(unsigned processes) {
  return processes > std::max(1u, std::thread::hardware_concurrency());
}

Duration suitable_spin(unsigned processes) {
  return share_cores(processes) ? Duration{} : Duration::microseconds(30);
}

}  // namespace weft
