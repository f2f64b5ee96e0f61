// SPDX-License-Identifier: Apache-2.0
// The machine's monotonic clock, as an Instant.
#pragma once

#include <ctime>

#include "weft/time.hpp"

namespace weft::testbed {

inline Instant clock_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return Instant(now.tv_sec * 1'000'000'000 + now.tv_nsec);
}

}  // namespace weft::testbed
