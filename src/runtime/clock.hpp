// SPDX-License-Identifier: Apache-2.0
// The driver's clock. Machines never read it: their drivers pass them the time.
#pragma once

#include <time.h>

#include <cstdint>

#include "weft/time.hpp"

namespace weft {

/// The time that CLOCK_MONOTONIC, which begins when the machine does, shows at `Instant()`: 36
/// years before. Drivers take `Instant()` for a time that has passed; tools that set clocks back
/// for a program (faketime) would make it one that is yet to come, and the driver wait for it.
inline constexpr Duration before_the_machine = Duration(std::int64_t{1} << 60);

/// CLOCK_MONOTONIC, the same for all processes of a machine, and always after `Instant()`.
inline Instant monotonic_now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return Instant(t.tv_sec * 1'000'000'000 + t.tv_nsec) + before_the_machine;
}

/// The processor time of this thread.
inline Duration thread_processor_time() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return Duration(t.tv_sec * 1'000'000'000 + t.tv_nsec);
}

}  // namespace weft
