// SPDX-License-Identifier: Apache-2.0
// The driver's clock. Machines never see it: they are told the time.
#pragma once

#include <time.h>

#include "weft/time.hpp"

namespace weft {

/// CLOCK_MONOTONIC, the same for all processes of a machine.
inline Instant monotonic_now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return Instant(t.tv_sec * 1'000'000'000 + t.tv_nsec);
}

}  // namespace weft
