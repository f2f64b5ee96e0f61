// SPDX-License-Identifier: Apache-2.0
#include "runtime/sleeper.hpp"

#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "base/check.hpp"
#include "runtime/clock.hpp"
#include "runtime/cores.hpp"

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
/// One that had the core for this fraction of the yield before it shares it with its like, by turns
/// of whole timeslices: a sleep gains nothing.
constexpr int fair_fraction = 8;
/// Beside somebody who computes on, yield after yield is long. One alone says nothing: a virtual
/// machine's host may have stopped a core. A driver that sleeps in vain makes its like sleep: four
/// processes on two cores then took 80 us for a barrier, and 3 us with yields.
constexpr Duration most_lost = Duration::milliseconds(12);
/// To move takes some microseconds, and the kernel may have had its reasons.
constexpr Duration between_returns = Duration::milliseconds(10);

/// The kernel lets a thread oversleep by 50 us, to wake several at once: more than most networks
/// take for a message, and a shaped link's deadlines come one behind the other.
void sleep_precisely() {
  thread_local const int done = ::prctl(PR_SET_TIMERSLACK, 1UL);
  (void)done;
}

/// Moves this thread to a random other core; no core is better than another.
void move_to_another_core(Crowding& crowding) {
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  cpu_set_t others = allowed;
  if (const int here = ::sched_getcpu(); here >= 0) CPU_CLR(here, &others);
  const int count = CPU_COUNT(&others);
  if (count == 0) return;
  move_to_core(core_of(others, crowding.pick(static_cast<std::uint64_t>(count))), allowed);
}

}  // namespace

Sleeper::Sleeper(Duration spin, bool gives_way, Duration a_switch)
    : spin_(spin),
      gives_way_(gives_way),
      patience_(static_cast<std::uint64_t>(::getpid()), a_switch),
      turns_(a_switch),
      crowding_(static_cast<std::uint64_t>(::getpid())) {}

void Sleeper::watch(int descriptor) {
  WEFT_CHECK(watched_.size() < max_watched);
  watched_.push_back(descriptor);
}

void Sleeper::idle(Instant now, Fabric& fabric, Instant deadline) {
  end_yield(now);
  if (now < crowded_until_) busy_until_ = now;
  if (gives_way_ && looks_on(now)) return;
  if (!gives_way_ && !in_wait_) {
    in_wait_ = true;
    yields_at_once_ = turns_.begin(now);
  }
  if (now < busy_until_) {
    if (gives_way_ || yields_at_once_ || busy_until_ - now < spin_ - longest_selfish) {
      yielded_ = now;
      ::sched_yield();
    }
    return;
  }
  const WaitHint hint = fabric.prepare_wait(now);
  if (hint.moving && !gives_way_) busy_until_ = now + spin_;
  if (hint.ready || now < busy_until_) return;
  if (punctual_ && !gives_way_ && spin_ > Duration{} && hint.poll_by <= deadline) {
    block_punctually(now, hint);
  } else {
    (void)block(now, hint.descriptor, std::min(deadline, hint.poll_by));
  }
}

void Sleeper::block_punctually(Instant now, const WaitHint& hint) {
  const Instant early = hint.poll_by - lateness_.ahead();
  if (early <= now) {
    busy_until_ = hint.poll_by;
    return;
  }
  const bool in_one = early <= now + longest_sleep;
  if (block(now, hint.descriptor, early) && in_one) lateness_.woke(monotonic_now() - early);
}

// On shared cores: whether a wait is to look again before the core is given away.
bool Sleeper::looks_on(Instant now) {
  if (!had_core_since_) had_core_since_ = now;
  if (!waits_since_) {
    waits_since_ = now;
    gave_way_ = false;
    looks_for_ = Duration{};
    if (now >= crowded_until_) {
      looks_for_ = patience_.begin(now);
      // Others had the core meanwhile, or the program: that says nothing about this wait.
      busy_until_ = std::max(busy_until_, now + spin_);
    }
  }
  if (now - *waits_since_ < looks_for_) return true;
  if (!std::exchange(gave_way_, true) && looks_for_ > Duration{}) patience_.failed();
  patience_.gave_way();
  return false;
}

void Sleeper::take_end_of_yield(Instant now) {
  const Instant begun = *yielded_;
  const Duration took = now - begun;
  yielded_.reset();
  if (took > longest_yield) {
    // While it slept instead it did not have to share.
    const bool is_fair = had_core_since_ &&
                         begun - std::max(*had_core_since_, crowded_until_) >= took / fair_fraction;
    if (!is_fair) lose(begun, now);
    had_core_since_ = now;
  }
  if (gives_way_) {
    if (place_ && now >= come_back_again_) come_back(now);
    return;  // with fewer cores than drivers there is none to move to
  }
  const bool has_switched = turns_.yielded(took);
  if (may_move_ && crowding_.yielded(now, took, yields_at_once_ && has_switched)) {
    move_to_another_core(crowding_);
  }
}

void Sleeper::lose(Instant begun, Instant now) {
  const Duration between =
      begun - std::max(lost_at_, crowded_until_);  // while it slept it lost none
  lost_ =
      std::max(lost_ - std::max(between, Duration{}) / fair_fraction, Duration{}) + (now - begun);
  lost_ = std::min(lost_, most_lost * 2);  // else hours beside somebody take minutes to forget
  lost_at_ = now;
  if (lost_ > most_lost) crowded_until_ = now + crowded;
}

void Sleeper::come_back(Instant now) {
  come_back_again_ = now + between_returns;
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  const auto cores = static_cast<std::uint32_t>(CPU_COUNT(&allowed));
  const int home = core_of(allowed, home_core(*place_, cores));
  if (home != ::sched_getcpu()) move_to_core(home, allowed);
}

bool Sleeper::block(Instant now, int descriptor, Instant deadline) {
  deadline = std::min(deadline, now + longest_sleep);
  if (deadline <= now) return false;
  crowding_.slept(now);
  sleep_precisely();
  std::array<pollfd, max_watched + 1> descriptors{};
  nfds_t n = 0;
  for (const int fd : watched_) descriptors[n++] = {.fd = fd, .events = POLLIN, .revents = 0};
  if (descriptor >= 0) descriptors[n++] = {.fd = descriptor, .events = POLLIN, .revents = 0};
  const std::int64_t left = (deadline - now).ticks();
  const timespec timeout{.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
  // Interrupted or not: the loop looks at everything again.
  return ppoll(descriptors.data(), n, &timeout, nullptr) == 0;
}

std::uint32_t home_core(std::uint32_t place, std::uint32_t cores) {
  const std::uint32_t from_edge = place % cores;
  const bool is_way_back = place / cores % 2 != 0;
  return is_way_back ? cores - 1 - from_edge : from_edge;
}

bool share_cores(unsigned processes) {
  return processes > cores_of_job();
}

Duration suitable_spin(unsigned processes) {
  return share_cores(processes) ? Duration{} : Duration::microseconds(30);
}

}  // namespace weft
