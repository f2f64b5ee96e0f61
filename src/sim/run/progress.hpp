// SPDX-License-Identifier: Apache-2.0
// A simulation's progress, for users who wait for it.
#pragma once

#include <functional>

#include "sim/partition/exchange.hpp"
#include "weft/time.hpp"

namespace weft::sim {

/// Called on the thread that simulates, with the simulated time and the planned end. May be empty.
using Progress = std::function<void(PicoInstant now, PicoInstant end)>;

/// Runs a simulation from its beginning to `end` in 100 equal steps. All parts of a divided
/// simulation make the same steps, and the first part calls `progress` after each.
/// `run_until(PicoInstant)` takes the simulation to an instant; false ends the run, and is
/// returned.
template <class RunUntil>
bool run_in_steps(PicoInstant end, const Exchange& exchange, const Progress& progress,
                  RunUntil run_until) {
  constexpr std::int64_t steps = 100;
  const PicoDuration all = end - PicoInstant();
  for (std::int64_t step = 1; step <= steps; ++step) {
    const PicoInstant now =
        step == steps ? end : PicoInstant() + PicoDuration(all.ticks() / steps * step);
    if (!run_until(now)) return false;
    if (progress && exchange.rank() == 0) progress(now, end);
  }
  return true;
}

}  // namespace weft::sim
