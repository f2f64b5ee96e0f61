// SPDX-License-Identifier: Apache-2.0
#include "mpi/object/brief_wait.hpp"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <utility>

#include "runtime/cores.hpp"

namespace weft::mpi {
namespace {

/// As many take 50 us on a Zen 5.
constexpr int most_looks = 2000;
/// The missing member may wait for another core, for which somebody else may wait who is not on the
/// board: then it may find this one.
constexpr int looks_before_yield = 1000;
/// Two rounds of all members on one core.
constexpr int most_yields = 32;
/// Where waits are long, or others compute on these cores, a look takes time from those who could
/// use it.
constexpr std::uint32_t most_skips = 16;
constexpr std::int64_t least_crowded_ns = 20'000'000;
constexpr std::int64_t most_crowded_ns = 1'000'000'000;
/// To move takes some microseconds, and the kernel may have had its reasons.
constexpr std::int64_t between_moves_ns = 10'000'000;
constexpr std::uint32_t waits_between_looks_at_clock = 256;

/// The clock that is cheapest to read.
std::int64_t tick_now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
  return t.tv_sec * 1'000'000'000 + t.tv_nsec;
}

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

int BriefWait::core() {
  return ::sched_getcpu();
}

bool BriefWait::until_complete(Board& board) {
  if (skips_ > 0) {
    --skips_;
    return false;
  }
  const bool is_complete = look_around(board);
  if (!is_complete) skips_ = next_skips_;
  next_skips_ = is_complete ? 1 : std::min(next_skips_ * 2, most_skips);
  return is_complete;
}

bool BriefWait::look_around(Board& board) {
  if (++waits_ % waits_between_looks_at_clock == 0) spread_out(board);
  int looks = 0, yields = 0, here = core();
  for (;;) {
    const Board::Sight sight = board.look(here);
    if (sight == Board::Sight::complete) return true;
    const bool is_here = sight == Board::Sight::missing_here;
    if (is_here || ++looks % looks_before_yield == 0) {
      if (++yields > most_yields || looks >= most_looks || !give_way()) return false;
      here = core();
      board.move_to(here);
    } else {
      relax();
    }
  }
}

// False: no more of it.
bool BriefWait::give_way() {
  const std::int64_t before = tick_now();
  if (before < crowded_until_) return false;
  ::sched_yield();
  ++yields_since_tick_;
  const std::int64_t after = tick_now();
  if (after == before) return true;
  const std::uint32_t yields = std::exchange(yields_since_tick_, 0);
  if (yields >= many_yields) crowded_for_ = 0;
  if (yields >= few_yields) return true;
  crowded_for_ = std::clamp(crowded_for_ * 2, least_crowded_ns, most_crowded_ns);
  crowded_until_ = after + crowded_for_;
  return false;
}

void BriefWait::spread_out(Board& board) {
  const std::int64_t now = tick_now();
  cpu_set_t allowed;
  if (now < spread_out_again_ || ::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  spread_out_again_ = now + between_moves_ns;
  const auto cores = static_cast<std::uint32_t>(CPU_COUNT(&allowed));
  const std::uint32_t fair = (board.members() + cores - 1) / cores;
  const int here = core();
  // With cores enough the kernel finds a better one. One at a time.
  if (fair == 1 || board.members_on(here) <= fair || !board.is_last_on(here)) return;
  int emptiest = here;
  for (std::uint32_t i = 0; i < cores; ++i) {
    const int other = core_of(allowed, i);
    if (board.members_on(other) < board.members_on(emptiest)) emptiest = other;
  }
  move_to_core(emptiest, allowed);
  board.move_to(core());
}

}  // namespace weft::mpi
