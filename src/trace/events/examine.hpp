// SPDX-License-Identifier: Apache-2.0
// Examines a whole trace before anything of it is replayed.
#pragma once

#include <string>

#include "trace/events/event.hpp"
#include "trace/events/summary.hpp"

namespace weft::trace {

/// Reads the stream to its end: every message has its counterpart of the same size, every operation
/// completes, all members of a communicator call the same collectives in the same order with the
/// same root and size. Errors are the stream's; the summary has the first mismatch.
Result<Summary> examine(EventStream& stream, const std::string& file);

}  // namespace weft::trace
