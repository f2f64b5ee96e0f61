// SPDX-License-Identifier: Apache-2.0
#include "mpi/object/told_clocks.hpp"

#include <ctime>

namespace weft::mpi {
namespace {

static_assert(clocks::clocks <= determinant::most_clocks);

using clocks::Clock;

bool counts_from_the_beginning(Clock clock) {
  const auto number = static_cast<int>(clock);
  if (number == CLOCK_PROCESS_CPUTIME_ID || number == CLOCK_THREAD_CPUTIME_ID) return true;
  return clock >= Clock::processor && clock != Clock::times_elapsed;
}

}  // namespace

std::int64_t ToldClocks::tell(Clock clock, std::int64_t now) {
  std::int64_t& ahead = ahead_[static_cast<std::size_t>(clock)];
  const bool was_read = questions_.replays();
  const std::int64_t told = questions_.tell_clock(static_cast<std::uint32_t>(clock), now + ahead);
  if (was_read && counts_from_the_beginning(clock)) ahead = told - now;
  return told;
}

}  // namespace weft::mpi
