// SPDX-License-Identifier: Apache-2.0
// A program whose processes leave recordings of their messages and computation, of which
// `weft trace record` makes a trace.
#pragma once

#include "weft/program.hpp"

namespace weft {

/// The program itself where the environment asks for no recording, or one that does the same and
/// is recorded: real processes and simulated ones alike, by their own clocks.
Program recorded_if_asked(const Program& program);

}  // namespace weft
