// SPDX-License-Identifier: Apache-2.0
// How long this machine takes to let another process have the core.
#pragma once

#include "weft/time.hpp"

namespace weft {

/// From one process to another and back, with what the caches lose, on a usual machine.
inline constexpr Duration usual_switch = Duration::nanoseconds(1500);
/// No switch is taken to last for longer.
inline constexpr Duration longest_switch = usual_switch * 32;

/// Returns the same for a machine on which a system call takes that long: some ten times as long,
/// and not less than usual. It is rounded to the usual time, or twice, four times … as long, so
/// that all processes of a machine find the same, and else one finds a multiple of another's.
constexpr Duration switch_time_of(Duration system_call) {
  Duration rounded = usual_switch;
  while (rounded * 14 < system_call * 100 && rounded < longest_switch) rounded = rounded * 2;
  return rounded;
}

/// Returns the same for this machine. The first call takes some system calls; each later one
/// returns the same. In some virtual machines it is eight times as long as usual. Any thread.
Duration time_of_switch();

}  // namespace weft
