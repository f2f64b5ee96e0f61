// SPDX-License-Identifier: Apache-2.0
// Logging to standard error, one line per message. Machines do not log: they emit events.
#pragma once

#include <spdlog/spdlog.h>

#include <string_view>

namespace weft {

/// Sets up the process's log: level by name ("error", "warning", "info", "debug", "trace") and a
/// prefix that says which node speaks ("input 3"). Call it while no other thread runs.
void set_up_log(std::string_view level, std::string_view who);

/// The same for a program that nobody gives options: the level is WEFT_LOG's, or "error". A level
/// that there is not is told, and "error" holds.
void set_up_log_of_program(std::string_view who);

}  // namespace weft
