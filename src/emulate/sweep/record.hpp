// SPDX-License-Identifier: Apache-2.0
// The findings of a sweep, as JSON and as words.
#pragma once

#include <string>
#include <string_view>

#include "emulate/sweep/sweep.hpp"

namespace weft::emulate {

/// docs/sweep.md lists the fields. One line without its end.
std::string to_json_text(const SweepOutcome& outcome, std::string_view command_line);

/// The slower networks that the program tolerates, in one sentence, and in another one how
/// uncertain that is where points are not known as exactly as requested. The outcome has an
/// analysis.
std::string needs_of(const SweepOutcome& outcome);

/// "+2.1 us": a latency in seconds.
std::string latency_text(double seconds);
/// "12,345", or with fewer digits than three "1.25".
std::string count_text(double count);

}  // namespace weft::emulate
