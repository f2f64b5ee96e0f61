// SPDX-License-Identifier: Apache-2.0
#include "mpi/object/brief_wait.hpp"

#include <utility>

#include "runtime/cores.hpp"

namespace weft::mpi {
namespace {

constexpr std::int64_t least_crowded_ns = 20'000'000;
constexpr std::int64_t most_crowded_ns = 1'000'000'000;
/// To move takes some microseconds, and the kernel may have had its reasons.
constexpr std::int64_t between_moves_ns = 10'000'000;

}  // namespace

bool BriefWait::note_tick(std::int64_t now) {
  const std::uint32_t yields = std::exchange(yields_since_tick_, 0);
  if (yields >= many_yields) crowded_for_ = 0;
  if (yields >= few_yields) return true;
  crowded_for_ = std::clamp(crowded_for_ * 2, least_crowded_ns, most_crowded_ns);
  crowded_until_ = now + crowded_for_;
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
