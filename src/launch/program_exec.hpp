// SPDX-License-Identifier: Apache-2.0
// Turns a forked process into a process of the program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launch/signal_file.hpp"
#include "runtime/channel.hpp"

namespace weft {

/// The exit code of a program that cannot be executed, as shells have it.
constexpr int cannot_execute = 127;

/// Descriptors for the program; −1: none.
struct ProgramFiles {
  int input = -1;     ///< its standard input; none: as this process has it
  int output = -1;    ///< its standard output
  int outcomes = -1;  ///< the memory of its log (process/outcome_memory)
};

/// One line without a prefix: that `program` cannot be executed, the reason `number`, an errno, and
/// the fix.
std::string why_not_started(const std::string& program, int number);

/// execvp(3), except that no shell reads a program of another machine. Returns only when it cannot,
/// with the reason in errno.
void execute_or_fail(const std::vector<std::string>& command);

/// Executes the program as that rank, with its end of the channel. Returns only when it cannot,
/// after having told the launcher why: `cannot_execute`.
int execute_program(std::uint32_t rank, const std::vector<std::string>& command,
                    const SignalFile& signals, Channel channel, const ProgramFiles& files);

}  // namespace weft
