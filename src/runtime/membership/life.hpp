// SPDX-License-Identifier: Apache-2.0
// Numbers for the lives of a rank, where no launcher counts them.
#pragma once

#include <time.h>

#include "weft/ids.hpp"

namespace weft {

/// The number of a life that began at `time` (CLOCK_REALTIME): tenths of seconds since 2025, so
/// that a later life has a higher one wherever it runs, as far as clocks agree. At least 1.
Incarnation incarnation_at(timespec time);
/// Returns the incarnation of a life that begins now.
Incarnation incarnation_now();
/// Blocks until a life with this number could have begun; returns at once unless the number is of
/// the future. A process that takes the number after `incarnation_now` and waits for it before it
/// sends cannot be mixed up with a life that ended a moment ago.
void wait_for(Incarnation incarnation);

}  // namespace weft
