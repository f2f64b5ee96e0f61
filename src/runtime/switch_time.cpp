// SPDX-License-Identifier: Apache-2.0
#include "runtime/switch_time.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/clock.hpp"

namespace weft {
namespace {

/// The fastest of a few rounds: others may have had the core in the rest of them. A system call
/// that does nearly nothing, and never gives the core away.
Duration measure_system_call() {
  constexpr int rounds = 4, calls = 4;
  Duration fastest = Duration::max();
  for (int round = 0; round < rounds; ++round) {
    const Instant begun = monotonic_now();
    for (int i = 0; i < calls; ++i) (void)::syscall(SYS_getppid);
    fastest = std::min(fastest, (monotonic_now() - begun) / calls);
  }
  return fastest;
}

}  // namespace

Duration time_of_switch() {
  static const Duration measured = switch_time_of(measure_system_call());
  return measured;
}

}  // namespace weft
